import Foundation
import Testing

/// The sources in `Tests/CompileTests`, compiled in as few runs of the compiler as possible.
///
/// Each source declares `func test`, which gets a unique name, so that all sources fit into one module. Type errors
/// keep the compiler from checking data isolation, so rejected sources are taken out and the others are compiled again.
struct CompileCases: Sendable {
    /// The compiler's messages about each file. The list is empty for an accepted file.
    let outcomes: [String: [Compiler.Diagnostic]]
    /// The compiler's whole output, for messages.
    let text: String

    /// The compiler settings that users' modules have.
    enum Mode: String, CaseIterable, Sendable {
        case plain, nonsendingByDefault, mainActorByDefault

        var flags: [String] {
            switch self {
            case .plain: []
            case .nonsendingByDefault: ["-enable-upcoming-feature", "NonisolatedNonsendingByDefault"]
            case .mainActorByDefault:
                ["-enable-upcoming-feature", "NonisolatedNonsendingByDefault", "-default-isolation", "MainActor"]
            }
        }
    }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../CompileTests").standardized

    /// The files of one kind, whose names begin with this prefix.
    static func names(_ kind: String) -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return all.filter { $0.hasPrefix(kind + "-") }.sorted()
    }

    static func names(_ kinds: [String]) -> [String] { kinds.flatMap(names) }

    private static let rejected = Mode.allCases.map { mode in
        let kinds = ["Leak", "Predicate", "Unknown", "Commit"]
        return Task { try await compile(names(kinds), mode, untilNothingIsRejected: true) }
    }

    private static let accepted = Mode.allCases.map { mode in
        Task { try await compile(names(["Legal", "Warns"]), mode, untilNothingIsRejected: false) }
    }

    /// Cases that must not compile.
    static func rejected(_ mode: Mode) async throws -> CompileCases {
        try await rejected[Mode.allCases.firstIndex(of: mode)!].value  // allCases contains every mode
    }

    /// Cases that must compile.
    static func accepted(_ mode: Mode) async throws -> CompileCases {
        try await accepted[Mode.allCases.firstIndex(of: mode)!].value  // allCases contains every mode
    }

    private static func compile(
        _ names: [String],
        _ mode: Mode,
        untilNothingIsRejected: Bool
    ) async throws -> CompileCases {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("strata-cases-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: scratch) }
        for (index, name) in names.enumerated() {
            let source = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            try source.replacingOccurrences(of: "func test(", with: "func test\(index)(")
                .write(to: scratch.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        var (left, text) = (names, "")
        var outcomes: [String: [Compiler.Diagnostic]] = [:]
        while !left.isEmpty {
            let sources = [folder.appendingPathComponent("Support.swift")] + left.map(scratch.appendingPathComponent)
            let outcome = try await Compiler().compile(sources, mode.flags)
            text += outcome.text
            for diagnostic in outcome.diagnostics { outcomes[diagnostic.file, default: []].append(diagnostic) }
            let count = left.count
            left.removeAll { name in outcomes[name]?.contains(where: \.isError) ?? false }
            if !untilNothingIsRejected || outcome.succeeded || left.count == count { break }
        }
        return CompileCases(outcomes: outcomes, text: text)
    }
}
