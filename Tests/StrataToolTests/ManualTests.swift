import CloudScenarios
import Foundation
import StoreModels
import Testing

@Suite("The manual page and the guide of strata", .timeLimit(.minutes(2))) struct ManualTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The description of a command, as the argument parser prints it.
    private struct CommandInfo: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }

            let names: [Name]?
        }

        let commandName: String
        let arguments: [Argument]?
        let subcommands: [CommandInfo]?

        /// The options of the command and its subcommands, with their dashes.
        var options: Set<String> {
            let names = (arguments ?? []).flatMap { $0.names ?? [] }
            let own = names.map { $0.kind == "long" ? "--\($0.name)" : "-\($0.name)" }
            return (subcommands ?? []).reduce(into: Set(own)) { $0.formUnion($1.options) }
        }
    }

    private struct ToolInfo: Decodable {
        let command: CommandInfo
    }

    @Test("The manual page and the guide name every command, and the page every option")
    func complete() async throws {
        let dump = await ToolRun("--experimental-dump-help")
        #expect(dump.status == 0)
        let command = try JSONDecoder().decode(ToolInfo.self, from: Data(dump.output.utf8)).command
        // In the source of a page, a dash is `\-`.
        let page = try Self.text(of: "Documentation/man/strata.1").replacing("\\-", with: "-")
        let guide = try Self.text(of: "Guides/The-command-line.md")
        let names = (command.subcommands ?? []).map(\.commandName)
        #expect(names.contains("inspect") && names.contains("compact"))
        for name in names {
            #expect(page.contains("\n.B strata \(name)\n"), "the synopsis of \(name) is missing")
            #expect(page.contains("\n.TP\n.B \(name)\n"), "the description of \(name) is missing")
            #expect(guide.contains("strata \(name)"), "the guide does not show \(name)")
        }
        let options = command.options
        #expect(options.contains("--json") && options.contains("--allow-missing"))
        for option in options { #expect(page.contains(option), "the page does not name \(option)") }
    }

    /// A command in a `console` block of the guide, and the lines that it prints.
    private struct Example {
        let line: String
        var expected: [String] = []

        /// The arguments after `strata`. Text in double quotes is one argument.
        var arguments: [String] {
            line.split(separator: "\"", omittingEmptySubsequences: false).enumerated().flatMap { index, part in
                index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
            }.dropFirst().map { $0 }
        }
    }

    private static func examples() throws -> [Example] {
        var examples: [Example] = []
        var isConsole = false
        let guide = try text(of: "Guides/The-command-line.md")
        for line in guide.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isConsole = line == "```console"
            } else if isConsole, line.hasPrefix("$ ") {
                examples.append(Example(line: String(line.dropFirst(2))))
            } else if isConsole, !examples.isEmpty {
                examples[examples.count - 1].expected.append(String(line))
            }
        }
        return examples
    }

    /// Whether a line is an expected one, in which `…` replaces any text.
    private func isLine(_ line: String, _ expected: String) -> Bool {
        var rest = line[...]
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() where !part.isEmpty {
            if index == 0 {
                guard rest.hasPrefix(part) else { return false }
                rest = rest.dropFirst(part.count)
            } else if index == parts.count - 1 {
                return rest.hasSuffix(part)
            } else {
                guard let range = rest.firstRange(of: part) else { return false }
                rest = rest[range.upperBound...]
            }
        }
        return rest.isEmpty || parts.last?.isEmpty == true && parts.count > 1
    }

    @Test("The commands of the guide print what the guide shows")
    func examples() async throws {
        let folder = try ScratchFolder()
        _ = try await Press.make(in: folder)
        _ = try await QueueStore.make(in: folder)
        _ = try await Letters.make(in: folder)
        let examples = try Self.examples()
        #expect(examples.count > 8)
        let place = folder.url.path + "/"
        for example in examples {
            let arguments = example.arguments.map { argument in
                [".sqlite", ".jsonl"].contains { argument.hasSuffix($0) } ? place + argument : argument
            }
            let run = await ToolRun(arguments)
            let printed = (run.output + run.messages).replacing(place, with: "")
            let lines = printed.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
            #expect(
                lines.count == example.expected.count && zip(lines, example.expected).allSatisfy { isLine($0, $1) },
                "\(example.line) prints\n\(printed)"
            )
        }
    }
}
