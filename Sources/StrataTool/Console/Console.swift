import Foundation
import Strata
import StrataInspection

/// The streams that a command writes to and asks on.
///
/// Isolation: any. Lines of parallel calls are not mixed if the functions write whole lines.
package struct Console: Sendable {
    private let output: @Sendable (Data) throws -> Void
    private let messages: @Sendable (Data) -> Void
    /// Reads a line of an answer; nil without a terminal.
    private let answer: (@Sendable () async -> String?)?
    /// The current size of the terminal that shows the standard output; nil without a terminal.
    let terminalSize: (@Sendable () -> TerminalSize)?

    /// - Parameters:
    ///   - output: writes to the standard output.
    ///   - messages: writes to the standard error.
    ///   - answer: waits for a line that a person types, and returns nil at the end of the input. Nil without a
    ///     terminal.
    ///   - terminalSize: the current size of the terminal that shows the standard output; nil without a terminal.
    package init(
        output: @escaping @Sendable (Data) throws -> Void,
        messages: @escaping @Sendable (Data) -> Void,
        answer: (@Sendable () async -> String?)? = nil,
        terminalSize: (@Sendable () -> TerminalSize)? = nil
    ) {
        self.output = output
        self.messages = messages
        self.answer = answer
        self.terminalSize = terminalSize
    }

    /// The streams of the process.
    package static let standard: Console = {
        let hasTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
        let answer: @Sendable () async -> String? = { await typedLine() }
        let hasScreen = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
        let terminalSize: @Sendable () -> TerminalSize = { reportedSize() }
        return Console(
            output: { try put($0, on: STDOUT_FILENO) },
            // A closed standard error is not a reason to stop.
            messages: { try? put($0, on: STDERR_FILENO) },
            answer: hasTerminal ? answer : nil,
            terminalSize: hasScreen ? terminalSize : nil
        )
    }()

    /// The size that the terminal reports, or the usual size if it reports none.
    private static func reportedSize() -> TerminalSize {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return TerminalSize(rows: 24, columns: 80)
        }
        return TerminalSize(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// A line from the terminal; nil at the end of the input, or when the task is cancelled.
    private static func typedLine() async -> String? {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        // `readLine` cannot be cancelled, so a separate thread waits for it.
        Thread.detachNewThread {
            if let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        for await line in lines { return line }
        return nil
    }

    // MARK: Output

    /// Prints lines. Control characters in them are escaped.
    ///
    /// - Throws: ``OutputError`` if the output accepts no more data, for example because a disk is full.
    func print(_ lines: String...) throws { try print(lines) }

    /// Prints lines. Control characters in them are escaped.
    func print(_ lines: [String]) throws {
        try output(Data(lines.map { TerminalText.escaped($0) + "\n" }.joined().utf8))
    }

    /// Prints a value of JSON as one line.
    func print(_ json: JSON) throws { try output(Data((json.line + "\n").utf8)) }

    /// Prints a text of the tool itself as it is.
    func print(text: String) throws { try output(Data((text + "\n").utf8)) }

    /// Writes control sequences to the terminal. Text from a store must be escaped before.
    func control(_ sequences: String) throws { try output(Data(sequences.utf8)) }

    // MARK: Messages

    /// Writes a message for a person to the standard error. Control characters are escaped.
    ///
    /// The details of an error are indented by two spaces. Other line feeds are those of names, and are escaped too.
    func note(_ message: String) {
        var lines: [String] = []
        for line in "strata: \(message)".split(atBytes: "\n", omitsEmpty: false) {
            if lines.isEmpty || line.hasBytePrefix("  ") {
                lines.append(line)
            } else {
                lines[lines.count - 1] += "\n" + line
            }
        }
        messages(Data((lines.map { TerminalText.escaped($0) }.joined(separator: "\n") + "\n").utf8))
    }

    /// Writes the argument parser's message about wrong arguments, which names the command itself.
    func noteUsage(_ text: String) {
        let lines = text.split(atBytes: "\n", omitsEmpty: false).map { TerminalText.escaped($0) }
        messages(Data((lines.joined(separator: "\n") + "\n").utf8))
    }

    // MARK: Questions

    /// Whether a person can answer a question.
    var canAsk: Bool { answer != nil }

    /// Asks a question. Returns whether the answer is yes.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile.
    func ask(_ question: String) async throws -> Bool {
        guard let answer else { return false }
        messages(Data("\(TerminalText.escaped(question)) [y/N] ".utf8))
        let line = await answer()
        try Task.checkCancellation()
        return ["y", "yes"].contains((line ?? "").trimmingCharacters(in: .whitespaces).lowercased())
    }
}
