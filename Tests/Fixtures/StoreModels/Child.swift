import Foundation
import Synchronization

/// A process of a helper, which the tests talk to by its output and end by its id.
public final class Child: Sendable {
    /// What the process has written, line by line; ends with the process.
    public let lines: AsyncStream<String>
    private let process: Mutex<Process>
    private let ended: AsyncStream<Void>

    private static let folder: URL = {
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
    /// - Parameter helper: the name of the program.
    public init(helper: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = Self.folder.appendingPathComponent(helper)
        process.arguments = arguments
        // Of what is free glibc's allocator keeps much, for each thread: its memory is to be, more or less, what is in use.
        process.environment = ProcessInfo.processInfo.environment.merging(["MALLOC_ARENA_MAX": "1"]) { own, _ in own }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        try process.run()
        let handle = pipe.fileHandleForReading
        // A thread that reads until the pipe ends: simpler than a handler, and nothing is lost when the process dies.
        Thread.detachNewThread {
            var rest = Data()
            while true {
                // What is there; `read(upToCount:)` would wait until it has all that was asked for.
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
            // A line that was cut off acknowledges nothing.
            try? handle.close()
            continuation.finish()
        }
        self.lines = lines
        self.ended = ended
        self.process = Mutex(process)
    }

    /// The number of the process.
    public var id: Int32 { process.withLock { $0.processIdentifier } }

    deinit { kill() }

    /// Ends it at once, without giving it a chance to do anything.
    public func kill() {
        process.withLock { process in
            if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// Asks it to end.
    public func terminate() { process.withLock { $0.terminate() } }

    /// Waits for its end.
    public func wait() async { for await _ in ended {} }

    /// Waits for its end and gives the lines that nobody has read yet.
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
