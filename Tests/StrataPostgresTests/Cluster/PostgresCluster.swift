import Foundation
import Synchronization

/// A PostgreSQL server with an empty cluster, or a standby of another one.
///
/// It ends with the process of the tests, however this ends: `cluster.sh` ends the server and removes the folder when no
/// process holds the other end of its standard input any more.
final class PostgresCluster: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let port: Int
    private let folder: URL
    private let input = Pipe()
    private let output = Pipe()

    private static let result = Result { try PostgresCluster() }

    /// The server of all tests that do not stop it.
    static func shared() throws -> PostgresCluster { try result.get() }

    /// A way in which a server ends.
    enum Ending: String, CaseIterable, Sendable {
        /// At once, without a checkpoint, as in a crash.
        case stop
        /// By SIGINT, with a checkpoint.
        case interrupt
        /// By SIGKILL of the main process.
        case kill
    }

    /// - Parameters:
    ///   - primaryPort: the port through which this server, a standby, gets the log of its primary server; nil for a
    ///     server with an empty cluster.
    ///   - certificates: those of a server with TLS. Then other users than `postgres` are let in by TLS and password
    ///     only.
    init(standbyOf primaryPort: Int? = nil, certificates: ServerCertificates? = nil) throws {
        port = try Loopback.freePort()
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "cluster.sh")
        process.arguments =
            [folder.path, "\(port)"] + (primaryPort.map { ["--standby-of", "\($0)"] } ?? [])
            + (certificates.map { ["--certificates", $0.folder.path] } ?? [])
        process.standardInput = input
        process.standardOutput = output
        // Other processes must not inherit this end of the pipe.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        try expect("ready")
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// The connection string of a superuser.
    var address: String { address(port: port) }

    /// The same, through another port.
    func address(port: Int) -> String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres" }

    /// The connection string of a superuser over the server's Unix socket, which other network namespaces reach too.
    var socketAddress: String { "host=\(folder.path) port=\(port) user=postgres dbname=postgres" }

    /// The connection string of a superuser to the first of several servers that accepts writes.
    static func address(ports: [Int]) -> String {
        let hosts = ports.map { _ in "127.0.0.1" }.joined(separator: ",")
        let ports = ports.map { "\($0)" }.joined(separator: ",")
        return "host=\(hosts) port=\(ports) user=postgres dbname=postgres"
    }

    /// Ends the server; by default at once, as a crash would.
    func stop(_ ending: Ending = .stop) throws {
        try send(ending.rawValue)
        try expect("stopped")
    }

    func start() throws {
        try send("start")
        try expect("ready")
    }

    /// Makes a standby accept writes, after it has applied everything that it has received.
    func promote() throws {
        try send("promote")
        try expect("promoted")
    }

    /// Adds a line to the configuration. The server reads it soon, but perhaps after this call.
    func configure(_ line: String) throws {
        try send("configure \(line)")
        try expect("configured")
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

/// Ports of this machine.
enum Loopback {
    static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Calls a function with a new socket, and an address in the form of the C library.
    static func withSocket<Result>(
        _ port: Int,
        _ body: (_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) throws -> Result
    ) throws -> Result {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
        do {
            return try withUnsafePointer(to: address(port: port)) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// A socket that listens on a free port. The caller closes it.
    static func listen() throws -> (descriptor: Int32, port: Int) {
        try withSocket(0) { descriptor, address, size in
            guard bind(descriptor, address, size) == 0, Foundation.listen(descriptor, 16) == 0 else {
                throw POSIXError(.EADDRINUSE)
            }
            var bound = sockaddr_in()
            var length = size
            let result = withUnsafeMutablePointer(to: &bound) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0 else { throw POSIXError(.EADDRINUSE) }
            return (descriptor, Int(UInt16(bigEndian: bound.sin_port)))
        }
    }

    /// A connection to a port. The caller closes it.
    static func connect(to port: Int) throws -> Int32 {
        try withSocket(port) { descriptor, address, size in
            guard Foundation.connect(descriptor, address, size) == 0 else { throw POSIXError(.ECONNREFUSED) }
            return descriptor
        }
    }

    /// A port that no process uses at the moment.
    static func freePort() throws -> Int {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }
}
