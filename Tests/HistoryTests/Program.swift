import Foundation

/// The built program `history` in a separate process.
final class Program {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let notes = Pipe()
    private var noteBytes = Data()

    /// The outcome of a run that has ended.
    struct Result {
        /// The exit status. If a signal has ended the program, this is the negative signal.
        let status: Int32
        let output: String
        let notes: String

        var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

        /// The number before the first word of this kind, as in `1,200 commits`.
        func number(of word: String) -> Int? {
            let words = (output + "\n" + notes).replacing(",", with: "").split { $0.isWhitespace }
            guard let index = words.firstIndex(where: { $0 == word || $0 == word + "s" }), index > 0 else { return nil }
            return Int(words[index - 1])
        }
    }

    /// - Parameter variables: variables that are added to the environment of the tests.
    init(_ arguments: [String], variables: [String: String] = [:]) throws {
        // A program that has ended no longer reads its input. `feed` must detect this, and the signal must not end the
        // tests.
        signal(SIGPIPE, SIG_IGN)
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = notes
        try process.run()
    }

    /// The folder of the tests, where the build puts all products.
    private static var executable: URL {
        #if os(Linux)
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appendingPathComponent("history")
        #else
            Bundle(for: Program.self).bundleURL.deletingLastPathComponent().appendingPathComponent("history")
        #endif
    }

    /// Runs the program to its end.
    static func run(_ arguments: String..., variables: [String: String] = [:]) throws -> Result {
        try Program(arguments, variables: variables).end()
    }

    /// Writes bytes to the program's standard input. Returns when the program has read all bytes except those in the
    /// pipe's buffer.
    ///
    /// - Returns: false if the program no longer reads.
    @discardableResult
    func feed(_ bytes: some DataProtocol) -> Bool {
        (try? input.fileHandleForWriting.write(contentsOf: bytes)) != nil
    }

    /// Waits until the program has written the text to standard error, or has ended.
    func waitForNote(_ text: String) {
        while !String(decoding: noteBytes, as: UTF8.self).contains(text) {
            let more = notes.fileHandleForReading.availableData
            if more.isEmpty { return }
            noteBytes += more
        }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits until the program ends by itself.
    func waitUntilItEnds() { process.waitUntilExit() }

    /// Closes the program's input, and waits for its end.
    func end() throws -> Result {
        try? input.fileHandleForWriting.close()
        // The output fits into the pipe's buffer, so the program does not block while its outputs are read one after
        // the other.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        noteBytes += notes.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let status = process.terminationStatus
        return Result(
            status: process.terminationReason == .exit ? status : -status,
            output: text,
            notes: String(decoding: noteBytes, as: UTF8.self)
        )
    }
}
