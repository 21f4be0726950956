import Foundation
import HomeSuite
import InMemoryLogging
import Logging
import PostgresCluster
import StoreModels
import Strata
import Testing

@testable import StrataPostgres

/// Connections with TLS to a server with a certificate, passwords, and certificates of clients. The address `0.0.0.0`
/// leads to this machine, but Strata takes it for that of another one.
@Suite("TLS and passwords of PostgreSQL", .timeLimit(.minutes(3)), .serialized) struct TransportSecurityTests {
    /// A server with TLS, a role with a password, and one that needs a certificate.
    private final class Server: Sendable {
        let certificates: ServerCertificates
        let cluster: PostgresCluster
        let password = "Secret\(UUID().uuidString.prefix(8))"

        init() throws {
            certificates = try ServerCertificates()
            cluster = try PostgresCluster(certificates: certificates)
            let fixture = try HomeFixture(on: cluster)
            try fixture.query("CREATE ROLE member LOGIN PASSWORD '\(password)'")
            try fixture.query("CREATE ROLE certified LOGIN")
            try fixture.query("GRANT CREATE ON DATABASE postgres TO member, certified")
        }

        /// The address without a password.
        func address(
            host: String = ServerCertificates.host,
            authority: String? = nil,
            user: String = "member",
            _ rest: String = ""
        ) -> String {
            "host=\(host) hostaddr=0.0.0.0 port=\(cluster.port) user=\(user) dbname=postgres connect_timeout=5 "
                + "sslrootcert=\(authority ?? certificates.authority.path) \(rest)"
        }

        func home(_ connection: String, timeout: TimeInterval = 10) throws -> PostgresHome {
            try PostgresHome(connection, store: "tls_\(UUID().uuidString.lowercased())", timeout: timeout)
        }
    }

    private static let result = Result { try Server() }
    private let server: Server

    init() throws { server = try Self.result.get() }

    /// Opens a home, and returns the error.
    private func error(_ connection: String) throws -> StrataError {
        let home = try server.home(connection)
        defer { home.close() }
        let error = try #require(throws: StrataError.self) {
            _ = try home.open(SampleStore.description, busyTimeout: 5)
        }
        #expect(!error.message.contains("\n") && !error.message.contains("\t"), "\(error)")
        return error
    }

    // MARK: TLS

    @Test("A connection to another machine uses TLS, and checks the certificate and the name")
    func verified() throws {
        let application = UUID().uuidString
        let home = try server.home(
            server.address("password=\(server.password) application_name=\(application)")
        )
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 5)
        try home.publishNext(SampleStore.insertion(1))
        let rows = try HomeFixture(on: server.cluster).query(
            """
            SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE application_name = '\(application)'
            """
        )
        #expect(try rows.integer(row: 0, column: 0) > 0)
        #expect(try rows.integer(row: 0, column: 0) == rows.integer(row: 0, column: 1))
    }

    @Test("A copy over TLS has all rows: many small ones, and some that are larger than a record of TLS")
    func copied() throws {
        let home = try server.home(server.address("password=\(server.password)"), timeout: 5)
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 5)
        let store = try SampleStore()
        try home.publishNext(
            store.changes {
                for id in Int64(1)...3_000 {
                    let size = id.isMultiple(of: 500) ? 1_000_000 : Int(id % 50)
                    let content = Data(repeating: UInt8(id % 251), count: size)
                    try store.insert([.integer(id), .integer(-id), .null, .text("\(id)"), .blob(content)])
                }
            }
        )
        let rows = try home.rows(of: "Item")
        #expect(rows.map { $0[0] } == (Int64(1)...3_000).map { StoredValue.integer($0) })
        for (row, id) in zip(rows, Int64(1)...) {
            guard case .blob(let content) = row[4] else {
                Issue.record("The row \(id) has no content.")
                continue
            }
            let size = id.isMultiple(of: 500) ? 1_000_000 : Int(id % 50)
            #expect(content == Data(repeating: UInt8(id % 251), count: size), "the row \(id)")
        }
    }

    @Test("A server with another name, of an unknown authority, or without a known one is refused, with the reason")
    func refused() throws {
        let rest = "password=\(server.password)"
        let other = try error(server.address(host: "other.example", rest))
        #expect(other.code == .unreachable)
        #expect(other.message.contains("other.example") && other.message.contains("certificate"), "\(other)")

        let stranger = try ServerCertificates()
        let unknown = try error(server.address(authority: stranger.authority.path, rest))
        #expect(unknown.code == .unreachable)
        #expect(unknown.message.contains("certificate verify failed"), "\(unknown)")

        let missing = try error(server.address(authority: "/nowhere/root.crt", rest))
        #expect(missing.code == .unreachable)
        #expect(missing.message.contains("/nowhere/root.crt"), "\(missing)")
        for error in [other, unknown, missing] {
            #expect(error.message.contains("answers, but the connection failed"), "\(error)")
            #expect(!"\(error)".contains(server.password))
        }
    }

    @Test("A server without TLS is refused beyond this machine, unless the caller asks for it")
    func plain() throws {
        let cluster = try PostgresCluster.shared()
        let address = "host=db.example hostaddr=0.0.0.0 port=\(cluster.port) user=postgres dbname=postgres"
        let refusal = try error(address)
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("does not support SSL"), "\(refusal)")
        for mode in ["disable", "prefer"] {
            let home = try server.home("\(address) sslmode=\(mode)")
            defer { home.close() }
            _ = try home.open(SampleStore.description, busyTimeout: 5)
        }
        // On this machine, no certificate is needed.
        let local = try server.home(cluster.address)
        defer { local.close() }
        _ = try local.open(SampleStore.description, busyTimeout: 5)
    }

    @Test("A server that admits TLS only refuses a connection without it")
    func required() throws {
        let refusal = try error(server.address("password=\(server.password) sslmode=disable"))
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("no pg_hba.conf entry"), "\(refusal)")
        #expect(refusal.message.contains("answers, but the connection failed"), "\(refusal)")
    }

    @Test("A server that does not answer is not called one that refuses the connection")
    func silent() throws {
        let port = try Loopback.freePort()
        let refusal = try error("host=127.0.0.1 port=\(port) user=member dbname=postgres")
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("Try again when the server answers."), "\(refusal)")
    }

    // MARK: Certificates of clients

    @Test("A client with a certificate of the server's authority is let in, without a password")
    func certified() throws {
        let certificate = try server.certificates.client("certified")
        let home = try server.home(server.address(user: "certified", certificate))
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 5)
        try home.publishNext(SampleStore.insertion(1))
    }

    @Test("A client without a certificate, or with that of another user or authority, is refused")
    func uncertified() throws {
        // Without a path, libpq would look for a certificate in the user's folder.
        let missing = try error(server.address(user: "certified", "sslcert=/nowhere/client.crt"))
        #expect(missing.message.contains("requires a valid client certificate"), "\(missing)")

        let certificateOfOther = try server.certificates.client("other")
        let other = try error(server.address(user: "certified", certificateOfOther))
        #expect(other.message.contains("certificate authentication failed"), "\(other)")

        let authority = try ServerCertificates()
        defer { withExtendedLifetime(authority) {} }
        let certificateOfStranger = try authority.client("certified")
        let stranger = try error(server.address(user: "certified", certificateOfStranger))
        for error in [missing, other, stranger] {
            #expect(error.code == .unreachable)
            #expect(error.message.contains("answers, but the connection failed"), "\(error)")
        }
    }

    // MARK: Passwords

    /// The places that a password can come from.
    enum Source: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case text, url, variable, file, service

        var testDescription: String { rawValue }
    }

    /// Calls a function with a connection string whose password comes from a place.
    private func withPassword(
        _ password: String,
        from source: Source,
        _ body: (_ connection: String) throws -> Void
    ) throws {
        let folder = try ScratchFolder()
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.file(name)
            try Data(text.utf8).write(to: url)
            // libpq ignores a password file that others can read.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            return url.path
        }
        var variable: (name: String, value: String)?
        var connection = server.address()
        switch source {
        case .text: connection = server.address("password=\(password)")
        case .url:
            let root = server.certificates.authority.path
            connection = """
                postgresql://member:\(password)@\(ServerCertificates.host):\(server.cluster.port)/postgres\
                ?hostaddr=0.0.0.0&sslrootcert=\(root)
                """
        case .variable: variable = ("PGPASSWORD", password)
        case .file:
            let line = "\(ServerCertificates.host):\(server.cluster.port):postgres:member:\(password)\n"
            variable = ("PGPASSFILE", try file("pass", line))
        case .service:
            let lines = "\(server.address()) password=\(password)".split(separator: " ").joined(separator: "\n")
            variable = ("PGSERVICEFILE", try file("services", "[shop]\n\(lines)\n"))
            connection = "service=shop"
        }
        if let variable { setenv(variable.name, variable.value, 1) }
        defer { if let variable { unsetenv(variable.name) } }
        try body(connection)
    }

    @Test("Passwords come from the usual places", arguments: Source.allCases)
    func passwords(_ source: Source) throws {
        try withPassword(server.password, from: source) { connection in
            let home = try server.home(connection)
            defer { home.close() }
            _ = try home.open(SampleStore.description, busyTimeout: 5)
            try home.publishNext(SampleStore.insertion(1))
        }
    }

    @Test("A wrong password is in no error and no description", arguments: Source.allCases)
    func hidden(_ source: Source) throws {
        let wrong = "Wrong\(UUID().uuidString.prefix(8))"
        try withPassword(wrong, from: source) { connection in
            let home = try server.home(connection)
            defer { home.close() }
            let error = try #require(throws: StrataError.self) {
                _ = try home.open(SampleStore.description, busyTimeout: 5)
            }
            #expect(error.code == .unreachable)
            #expect(error.message.contains("password authentication failed"), "\(error)")
            #expect(error.message.contains("answers, but the connection failed"), "\(error)")
            var dumped = ""
            dump(home.settings, to: &dumped)
            dump(error, to: &dumped)
            let texts = [
                "\(error)", "\(error.details)", "\(String(describing: error.underlying))", home.name, "\(home)",
                String(reflecting: home), "\(home.settings)", dumped,
            ]
            for text in texts { #expect(!text.contains(wrong), "\(text)") }
        }
    }

    @Test("The log of a stack does not contain the password")
    func log() async throws {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        let folder = try ScratchFolder()
        let password = server.password
        let home = try server.home(server.address("password=\(password)"))
        let stack = try await ContextStack.open(
            .shared(home, copy: folder.file("copy.sqlite")),
            models: Bank.models,
            stack: .rootOnly,
            logger: logger
        )
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        let fixture = try HomeFixture(on: server.cluster)
        try fixture.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'member'")
        try await stack.catchUp()
        try await stack.close()
        #expect(!handler.entries.isEmpty)
        for entry in handler.entries { #expect(!"\(entry.message) \(entry.metadata)".contains(password)) }
    }
}
