import Foundation

/// The built program `history`, in a process of its own.
final class Program {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let notes = Pipe()
    private var noteBytes = Data()

    /// What a run that has ended left.
    struct Result {
        /// The exit status, or the signal that ended it, negative.
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

    /// - Parameter variables: on top of the environment of the tests.
    init(_ arguments: [String], variables: [String: String] = [:]) throws {
        // A program that was ended reads no more; that is for `feed` to find out, not the end of the tests.
        signal(SIGPIPE, SIG_IGN)
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = notes
        try process.run()
    }

    /// Beside the tests, where the build puts all products.
    private static var executable: URL {
        #if os(Linux)
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appendingPathComponent("history")
        #else
            Bundle(for: Program.self).bundleURL.deletingLastPathComponent().appendingPathComponent("history")
        #endif
    }

    /// Runs it to its end.
    static func run(_ arguments: String..., variables: [String: String] = [:]) throws -> Result {
        try Program(arguments, variables: variables).end()
    }

    /// Gives it this on standard input. Returns when it has read all but what a pipe holds.
    ///
    /// - Returns: false if it reads no more.
    @discardableResult
    func feed(_ bytes: some DataProtocol) -> Bool {
        (try? input.fileHandleForWriting.write(contentsOf: bytes)) != nil
    }

    /// Waits until it has said this on standard error, or has ended.
    func waitForNote(_ text: String) {
        while !String(decoding: noteBytes, as: UTF8.self).contains(text) {
            let more = notes.fileHandleForReading.availableData
            if more.isEmpty { return }
            noteBytes += more
        }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for it to end by itself.
    func waitUntilItEnds() { process.waitUntilExit() }

    /// Ends its input and waits for it.
    func end() throws -> Result {
        try? input.fileHandleForWriting.close()
        // What it prints fits into a pipe, so reading one after the other holds nobody up.
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
