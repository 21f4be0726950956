import Foundation
import Testing

/// One of the built programs, in a process of its own, and what it has shown so far.
///
/// A thread reads what it shows, so that it never waits for the test.
final class Program {
    private let process = Process()
    private let input = Pipe()
    private let shown = Shown()

    init(_ name: String, _ arguments: [String]) throws {
        // A program that was killed reads no more; that is no reason for the tests to end.
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

    /// Beside the tests, where the build puts all products.
    private static var folder: URL {
        #if os(Linux)
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        #else
            Bundle(for: Program.self).bundleURL.deletingLastPathComponent()
        #endif
    }

    /// The lines that it has shown so far, standard error among them.
    var lines: [String] { shown.lines }

    func type(_ lines: String...) { type(lines) }

    func type(_ lines: [String]) {
        try? input.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Waits until what it has shown is as it should be.
    ///
    /// - Throws: ``TooLate`` after some seconds, or when it has ended and will show no more.
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

    /// Ends it by SIGKILL, and waits until it is gone and all that it has shown is there.
    func kill() {
        send(SIGKILL)
        process.waitUntilExit()
        _ = shown.wait(until: Date() + 5) { _ in false }
    }

    /// Ends its input and waits for it.
    ///
    /// - Returns: the exit status, or the signal that has ended it, negative.
    func end() throws -> Int32 {
        try? input.fileHandleForWriting.close()
        guard shown.waitForEnd(until: Date() + 20) else { throw TooLate(what: "the end", lines: lines) }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}

/// What a program should have shown, and has not.
struct TooLate: Error, CustomStringConvertible {
    let what: String
    let lines: [String]

    var description: String { "\(what) was waited for; the last lines are\n" + lines.joined(separator: "\n") }
}

/// The lines of an output, for several threads.
private final class Shown: @unchecked Sendable {
    // Everything below is used under the lock of this condition.
    private let changed = NSCondition()
    private var rest = Data()
    private var whole: [String] = []
    private var isAtEnd = false

    var lines: [String] { changed.withLock { whole } }

    /// - Parameter bytes: empty at the end.
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

    /// - Returns: whether it is so; false at the deadline, and where the end has come without.
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
