import Foundation
import Synchronization
import TestHome

/// A process of a helper program. Tests read its output, and end it by its id.
public final class HelperProcess: Sendable {
    /// The lines that the process writes. The stream ends with the process.
    public let lines: AsyncStream<String>
    private let process: Mutex<Process>
    private let ended: AsyncStream<Void>

    /// The folder of the helper programs, and of the programs of this package.
    public static let folder: URL = {
        // The tests and the helper are built into one folder.
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let place = URL(fileURLWithPath: own).deletingLastPathComponent()
        let named = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        return named.map { URL(fileURLWithPath: $0).deletingLastPathComponent() } ?? place
    }()

    /// Starts a process of `strata-crash` with these arguments.
    public convenience init(_ arguments: String...) throws { try self.init(helper: "strata-crash", arguments) }

    /// Starts the process with these arguments.
    ///
    /// - Parameters:
    ///   - helper: the name of the program.
    ///   - arguments: the arguments of the program.
    ///   - launcher: the path and the arguments of a program that replaces itself by the helper, such as `unshare`.
    ///     Empty for none.
    public init(helper: String, _ arguments: [String], launcher: [String] = []) throws {
        let process = Process()
        let command = launcher + [Self.folder.appendingPathComponent(helper).path] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        // For each thread, the allocator of glibc keeps much of the freed memory. With one arena, the process's memory
        // is close to the memory in use.
        process.environment = ProcessInfo.processInfo.environment.merging(["MALLOC_ARENA_MAX": "1"]) { own, _ in own }
            .merging(TestHome.environment) { own, _ in own }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        try process.run()
        let handle = pipe.fileHandleForReading
        // A thread reads until the pipe ends. This is simpler than a handler, and loses nothing when the process dies.
        Thread.detachNewThread {
            var rest = Data()
            while true {
                // This call returns the available bytes; `read(upToCount:)` would wait for all requested bytes.
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
            // An incomplete last line does not acknowledge anything.
            try? handle.close()
            continuation.finish()
        }
        self.lines = lines
        self.ended = ended
        self.process = Mutex(process)
    }

    /// The process id.
    public var id: Int32 { process.withLock { $0.processIdentifier } }

    deinit { kill() }

    /// Ends the process at once with SIGKILL.
    public func kill() {
        process.withLock { process in
            if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// The signal that has ended the process; nil if the process has exited by itself. Call ``wait()`` or ``end()``
    /// before.
    public var endingSignal: Int32? {
        process.withLock { $0.terminationReason == .uncaughtSignal ? $0.terminationStatus : nil }
    }

    /// The status with which the process has exited; nil if a signal has ended it. Call ``wait()`` or ``end()`` before.
    public var exitStatus: Int32? {
        process.withLock { $0.terminationReason == .exit ? $0.terminationStatus : nil }
    }

    /// Asks the process to end.
    public func terminate() { process.withLock { $0.terminate() } }

    /// Waits for the end of the process.
    public func wait() async { for await _ in ended {} }

    /// Waits for the end of the process, and returns the lines that were not read yet.
    public func end() async -> [String] {
        await wait()
        var rest: [String] = []
        for await line in lines { rest.append(line) }
        return rest
    }

    /// The next line.
    public func next() async throws -> String {
        for await line in lines { return line }
        throw ChildError()
    }

    struct ChildError: Error {}
}
