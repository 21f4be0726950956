import Foundation
import Synchronization

/// A PostgreSQL server with an empty cluster, or a standby of another one. It ends with the process of the tests.
public final class PostgresCluster: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let port: Int
    private let script: ServerScript

    private static let result = Result {
        let cluster = try PostgresCluster()
        sharedFolder.withLock { $0 = cluster.script.folder }
        return cluster
    }

    /// The folder of ``shared()``, which stays until the process ends. Later clusters are copies of its template,
    /// because initdb takes more than a second.
    private static let sharedFolder = Mutex<URL?>(nil)

    /// The server of all tests that do not stop it.
    public static func shared() throws -> PostgresCluster { try result.get() }

    /// A way in which a server ends.
    public enum Ending: String, CaseIterable, Sendable {
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
    ///     only, and the user `certified` by a certificate of the same authority.
    ///   - settings: lines of `postgresql.conf`, which replace those of `cluster.sh`.
    public init(
        standbyOf primaryPort: Int? = nil,
        certificates: ServerCertificates? = nil,
        settings: [String] = []
    ) throws {
        port = try Loopback.freePort()
        let template = primaryPort == nil ? Self.sharedFolder.withLock { $0 }?.appending(path: "template") : nil
        script = try ServerScript(
            "cluster.sh",
            title: "PostgreSQL",
            ["\(port)"] + (template.map { ["--template", $0.path] } ?? [])
                + (primaryPort.map { ["--standby-of", "\($0)"] } ?? [])
                + (certificates.map { ["--certificates", $0.folder.path] } ?? []) + settings
        )
    }

    /// The connection string of a superuser.
    public var address: String { address(port: port) }

    /// The same, through another port.
    public func address(port: Int) -> String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres" }

    /// The connection string of a superuser over the server's Unix socket, which other network namespaces reach too.
    public var socketAddress: String { "host=\(script.folder.path) port=\(port) user=postgres dbname=postgres" }

    /// The connection string of a superuser to the first of several servers that accepts writes.
    public static func address(ports: [Int]) -> String {
        let hosts = ports.map { _ in "127.0.0.1" }.joined(separator: ",")
        let ports = ports.map { "\($0)" }.joined(separator: ",")
        return "host=\(hosts) port=\(ports) user=postgres dbname=postgres"
    }

    /// Ends the server; by default at once, as a crash would.
    public func stop(_ ending: Ending = .stop) throws { try script.send(ending.rawValue, answer: "stopped") }

    public func start() throws { try script.send("start", answer: "ready") }

    /// Makes a standby accept writes, after it has applied everything that it has received.
    public func promote() throws { try script.send("promote", answer: "promoted") }

    /// Adds a line to the configuration. The server reads it soon, but perhaps after this call.
    public func configure(_ line: String) throws { try script.send("configure \(line)", answer: "configured") }
}
