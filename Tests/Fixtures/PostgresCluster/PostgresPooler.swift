import Foundation

/// PgBouncer in front of a server on this machine. It ends with the process of the tests.
public final class PostgresPooler: Sendable {
    /// For how long a client keeps a connection of the pool.
    public enum Mode: String, CaseIterable, Sendable {
        case session, transaction
    }

    public let port: Int
    private let script: ServerScript

    private static let results = [Mode: Result<PostgresPooler, any Error>](
        uniqueKeysWithValues: Mode.allCases.map { mode in
            (mode, Result { try PostgresPooler(mode, serverPort: PostgresCluster.shared().port) })
        }
    )

    /// The pooler in front of the shared server, for all tests that do not stop it.
    public static func shared(_ mode: Mode) throws -> PostgresPooler {
        guard let result = results[mode] else {
            throw PostgresCluster.Failure(description: "A pooler was not started in the mode \(mode).")
        }
        return try result.get()
    }

    /// - Parameters:
    ///   - mode: the mode of the pool.
    ///   - serverPort: the port of the server on this machine.
    ///   - settings: lines of `pgbouncer.ini`, which replace those of `pooler.sh`.
    public init(_ mode: Mode, serverPort: Int, settings: [String] = []) throws {
        port = try Loopback.freePort()
        script = try ServerScript(
            "pooler.sh",
            title: "PgBouncer",
            ["\(port)", "\(serverPort)", mode.rawValue] + settings
        )
    }

    /// The connection string of a superuser of the server.
    public var address: String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres" }

    /// The messages of the pooler since its last start.
    public func log() throws -> String {
        String(decoding: try Data(contentsOf: script.folder.appending(path: "log")), as: UTF8.self)
    }

    /// Ends the pooler by SIGKILL, with all connections.
    public func kill() throws { try script.send("kill", answer: "stopped") }

    public func start() throws { try script.send("start", answer: "ready") }
}
