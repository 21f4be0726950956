import Foundation
import StrataTool
import Synchronization

/// A command that was run in the process of the tests, with its output.
struct ToolRun {
    let status: Int32
    /// The standard output.
    let output: String
    /// The standard error.
    let messages: String

    /// The lines of the output.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }

    /// Runs a command.
    ///
    /// - Parameter answer: the line that a person types when the command asks; nil without a terminal.
    init(_ arguments: [String], answer: String? = nil) async {
        let output = Mutex(Data())
        let messages = Mutex(Data())
        var reply: (@Sendable () async -> String?)?
        if let answer { reply = { answer } }
        let console = Console(
            output: { bytes in output.withLock { $0 += bytes } },
            messages: { bytes in messages.withLock { $0 += bytes } },
            answer: reply
        )
        status = await Tool.run(arguments, on: console)
        self.output = String(decoding: output.withLock { $0 }, as: UTF8.self)
        self.messages = String(decoding: messages.withLock { $0 }, as: UTF8.self)
    }

    init(_ arguments: String..., answer: String? = nil) async { await self.init(arguments, answer: answer) }

    /// The lines of the output as JSON objects.
    func objects() throws -> [[String: Any]] {
        try lines.map { line in
            guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw NoObject(line: line)
            }
            return object
        }
    }

    private struct NoObject: Error {
        let line: String
    }
}
