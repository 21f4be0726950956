import Foundation
import Testing

/// The guides are programs: they compile, run, and print the documented output.
@Suite("Guides")
struct GuideTests {
    @Test("The guides are found")
    func found() throws {
        #expect(Guide.all.count > 8)
        #expect(Guide.catalogues.count == 9)
        #expect(Guide.all.contains { $0.name == "README.md" && $0.blocks.contains { $0.kind == .run } })
    }

    static let running = Guide.all.filter { $0.blocks.contains { $0.kind == .run } }

    /// The programs of all guides by guide name. As many are compiled at once as there are processors, while tests run
    /// the finished ones.
    private static let programs = Dictionary(uniqueKeysWithValues: running.map { ($0.name, compilation(of: $0)) })

    private static func compilation(of guide: Guide) -> Task<Outcome, any Error> {
        Task {
            try await Compiler.shared.compile(
                GuideProgram(guide).source,
                name: moduleName(guide),
                to: Compiler.shared.folder.appending(path: moduleName(guide))
            )
        }
    }

    @Test("A guide runs and prints the documented output", arguments: running)
    func runs(_ guide: Guide) async throws {
        let program = Compiler.shared.folder.appending(path: Self.moduleName(guide))
        let compiled = try await Self.programs[guide.name]!.value
        try #require(compiled.status == 0, "\(guide.name) does not compile:\n\(compiled.errors)\(compiled.output)")
        // A guide may name a value only to show how it is made. Linker messages about a sanitizer do not concern the
        // guide.
        let warnings = compiled.errors.split(separator: "\n").filter {
            $0.contains(".swift:") && $0.contains(": warning: ") && !$0.contains("was never used")
        }
        #expect(warnings.isEmpty, "\(guide.name): \(warnings)")
        let outcome = try await Compiler.shared.run(program.path, [])
        var printed: [Int: [String]] = [:]
        var block = -1
        for line in outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix(GuideProgram.mark) {
                block = Int(line.dropFirst()) ?? -1
            } else {
                printed[block, default: []].append(String(line))
            }
        }
        for (index, block) in guide.blocks.enumerated() where block.kind == .run {
            let lines = printed[index] ?? []
            #expect(
                lines == block.expected,
                "\(guide.name):\(block.line) prints\n\(lines.joined(separator: "\n"))\n\(outcome.errors)"
            )
        }
        #expect(outcome.status == 0, "\(guide.name) ended with \(outcome.status): \(outcome.errors)")
    }

    static let refused = Guide.all.flatMap { guide in
        guide.blocks.indices.filter { guide.blocks[$0].kind == .error }.map { RefusedBlock(guide: guide, index: $0) }
    }

    @Test("Blocks that must not compile do not", arguments: refused)
    func refuses(_ refused: RefusedBlock) async throws {
        let guide = refused.guide
        let block = guide.blocks[refused.index]
        try #require(!block.errors.isEmpty, "\(guide.name):\(block.line) names no message: // error: …")
        let outcome = try await Compiler.shared.compile(
            GuideProgram(guide, upTo: refused.index).source,
            name: Self.moduleName(guide) + "\(refused.index)",
            to: nil
        )
        #expect(outcome.status != 0, "\(guide.name):\(block.line) compiles")
        let messages = outcome.errors + outcome.output
        let errors = messages.split(separator: "\n").filter { $0.contains(": error: ") }
        for part in block.errors {
            #expect(
                errors.contains { $0.contains(part) },
                "\(guide.name):\(block.line) is refused otherwise:\n\(messages)"
            )
        }
        // The compiler reports no other error.
        let lines = block.line..<block.line + block.code.count
        for error in errors {
            let line = error.split(separator: ":").dropFirst().first.flatMap { Int($0) }
            #expect(error.hasPrefix(guide.name) && line.map(lines.contains) == true, "\(error)")
        }
    }

    @Test("The examples of the documentation catalogues compile", arguments: Guide.catalogues)
    func catalogues(_ page: Guide) async throws {
        try #require(!page.blocks.isEmpty, "\(page.name) has no example")
        let name = Self.moduleName(page) + "Catalogue"
        let outcome = try await Compiler.shared.compile(GuideProgram(page).source, name: name, to: nil)
        #expect(outcome.status == 0, "\(page.name)\n\(outcome.errors)\(outcome.output)")
    }

    @Test("Manifests in guides are valid", arguments: Guide.all.filter { $0.blocks.contains { $0.kind == .manifest } })
    func manifests(_ guide: Guide) async throws {
        for (index, block) in guide.blocks.enumerated() where block.kind == .manifest {
            let outcome = try await Compiler.shared.check(
                manifest: block.code.joined(separator: "\n"),
                name: Self.moduleName(guide) + "Manifest\(index)"
            )
            #expect(outcome.status == 0, "\(guide.name):\(block.line)\n\(outcome.errors)\(outcome.output)")
        }
    }

    /// The rows of README's table of traits: the traits, and the products that they add to those of the rows above.
    private static func traitRows() throws -> [(traits: String, products: [String])] {
        let readme = try String(contentsOf: Repository.root.appending(path: "README.md"), encoding: .utf8)
        return readme.split(separator: "\n").filter { $0.hasPrefix("| `[") }.map { line in
            let columns = line.split(separator: "|")
            let traits = columns[0].trimmingCharacters(in: CharacterSet(charactersIn: " `"))
            return (traits, columns[1].matches(of: /`(\w+)`/).map { String($0.1) })
        }
    }

    @Test("Manifests in guides have the package's tools version, and the traits that README lists for their products")
    func manifestValues() throws {
        let package = try String(contentsOf: Repository.root.appending(path: "Package.swift"), encoding: .utf8)
        let version = String(try #require(package.split(separator: "\n").first))
        let rows = try Self.traitRows()
        #expect(rows.count == 4)
        for guide in Guide.all {
            for block in guide.blocks where block.kind == .manifest {
                let place = "\(guide.name):\(block.line)"
                #expect(block.code.first == version, "\(place)")
                let code = block.code.joined(separator: "\n")
                let needed = try code.matches(of: /\.product\(name: "(\w+)"/).map { match in
                    try #require(rows.firstIndex { $0.products.contains(String(match.1)) }, "\(place): \(match.1)")
                }
                let row = try #require(needed.max(), "\(place) uses no product")
                let traits = code.firstMatch(of: /traits: (\[[^\]]*\])\)/).map { String($0.1) }
                #expect(traits == rows[row].traits, "\(place)")
            }
        }
    }

    @Test("Links in guides lead to files", arguments: Guide.all)
    func links(_ guide: Guide) {
        let folder = Repository.root.appending(path: guide.name).deletingLastPathComponent()
        for link in guide.links {
            let isThere = FileManager.default.fileExists(atPath: folder.appending(path: link).path)
            #expect(isThere, "\(guide.name) links to \(link), which is not there")
        }
    }

    private static func moduleName(_ guide: Guide) -> String {
        "Guide" + guide.name.split(separator: "/").last!.dropLast(3).split { !$0.isLetter }.map(\.capitalized).joined()
    }
}

/// A block that must not compile.
struct RefusedBlock: Sendable, CustomTestStringConvertible {
    let guide: Guide
    let index: Int

    var testDescription: String { "\(guide.name):\(guide.blocks[index].line)" }
}
