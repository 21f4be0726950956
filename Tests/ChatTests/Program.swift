import Foundation
import Testing

/// One of the built programs in a separate process, and its output so far.
///
/// A thread reads the output, so the program never waits for the test.
final class Program {
    private let process = Process()
    private let input = Pipe()
    private let shown = Shown()

    init(_ name: String, _ arguments: [String]) throws {
        // A killed program no longer reads its input. The signal must not end the tests.
        signal(SIGPIPE, SIG_IGN)
        let output = Pipe()
        process.executableURL = Self.folder.appendingPathComponent(name)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let shown = shown
        let reader = output.fileHandleForReading
        Thread.detachNewThread {
            while true {
                let bytes = reader.availableData
                shown.add(bytes)
                if bytes.isEmpty { return }
            }
        }
    }

    deinit { kill() }

    /// The folder of the tests, where the build puts all products.
    private static var folder: URL {
        #if os(Linux)
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        #else
            Bundle(for: Program.self).bundleURL.deletingLastPathComponent()
        #endif
    }

    /// The lines of output so far, including standard error.
    var lines: [String] { shown.lines }

    func type(_ lines: String...) { type(lines) }

    func type(_ lines: [String]) {
        try? input.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Waits until the output satisfies the condition.
    ///
    /// - Throws: ``TooLate`` after `seconds` seconds, or if the program has ended and the condition does not hold.
    func wait(
        for what: String,
        seconds: Double = 20,
        where isSo: @escaping (_ lines: [String]) -> Bool
    ) throws {
        guard shown.wait(until: Date() + seconds, isSo) else {
            throw TooLate(what: what, lines: lines.suffix(30).map(\.self))
        }
    }

    func wait(for line: String) throws { try wait(for: line) { $0.contains(line) } }

    func send(_ signal: Int32) {
        if process.isRunning { Foundation.kill(process.processIdentifier, signal) }
    }

    /// Kills the program with SIGKILL, and waits until it has ended and all its output has arrived.
    func kill() {
        send(SIGKILL)
        process.waitUntilExit()
        _ = shown.wait(until: Date() + 5) { _ in false }
    }

    /// Closes the program's input, and waits for its end.
    ///
    /// - Returns: the exit status. If a signal has ended the program, the result is the negative signal.
    func end() throws -> Int32 {
        try? input.fileHandleForWriting.close()
        guard shown.waitForEnd(until: Date() + 20) else { throw TooLate(what: "the end", lines: lines) }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}

/// The output that a program should have shown in time.
struct TooLate: Error, CustomStringConvertible {
    let what: String
    let lines: [String]

    var description: String { "\(what) was waited for; the last lines are\n" + lines.joined(separator: "\n") }
}

/// The lines of an output, for access by several threads.
private final class Shown: @unchecked Sendable {
    // All properties below are used only while this condition's lock is held.
    private let changed = NSCondition()
    private var rest = Data()
    private var whole: [String] = []
    private var isAtEnd = false

    var lines: [String] { changed.withLock { whole } }

    /// - Parameter bytes: the next bytes of output, or empty at its end.
    func add(_ bytes: Data) {
        changed.withLock {
            rest += bytes
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                whole.append(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                rest = Data(rest[(end + 1)...])
            }
            isAtEnd = bytes.isEmpty
            changed.broadcast()
        }
    }

    /// - Returns: whether the condition holds. The result is false at the deadline, and if the output has ended without
    ///   it.
    func wait(until deadline: Date, _ isSo: ([String]) -> Bool) -> Bool {
        changed.withLock {
            while !isSo(whole) {
                if isAtEnd || !changed.wait(until: deadline) { return isSo(whole) }
            }
            return true
        }
    }

    func waitForEnd(until deadline: Date) -> Bool {
        changed.withLock {
            while !isAtEnd, changed.wait(until: deadline) {}
            return isAtEnd
        }
    }
}
