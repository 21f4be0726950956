import Foundation
import Synchronization

/// A PostgreSQL server with an empty cluster. It ends with the process of the tests, however this ends: `cluster.sh`
/// ends the server and removes the folder when no process holds the other end of its standard input any more.
public final class PostgresCluster: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let port: Int
    private let folder: URL
    private let input = Pipe()
    private let output = Pipe()

    private static let result = Result { try PostgresCluster() }

    /// The server of all tests that do not stop it.
    public static func shared() throws -> PostgresCluster { try result.get() }

    /// - Parameter settings: lines of `postgresql.conf`, which replace those of `cluster.sh`.
    public init(settings: [String] = []) throws {
        port = try Loopback.freePort()
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "cluster.sh")
        process.arguments = [folder.path, "\(port)"] + settings
        process.standardInput = input
        process.standardOutput = output
        // Other processes must not inherit this end of the pipe.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        try expect("ready")
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// The connection string of a superuser.
    public var address: String { address(port: port) }

    /// The same, through another port.
    public func address(port: Int) -> String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres" }

    /// Ends the server at once, as a crash would.
    public func stop() throws {
        try send("stop")
        try expect("stopped")
    }

    public func start() throws {
        try send("start")
        try expect("ready")
    }

    private func send(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// Reads a line of the script.
    private func expect(_ line: String) throws {
        var text = ""
        while !text.hasSuffix("\(line)\n") {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            if data.isEmpty || text.hasSuffix("failed\n") {
                throw Failure(description: "PostgreSQL is not \(line): \(text.suffix(2000))")
            }
        }
    }
}
