import Foundation
import PostgresCluster
import Strata
import Testing

@testable import StrataPostgres

/// Connection strings, without a server. The variables of libpq must not be set in the environment of the tests.
@Suite("Connection strings") struct ConnectionSettingsTests {
    /// The parameters that libpq gets for the first host.
    private func parameters(_ text: String) throws -> [String: String] {
        let settings = try ConnectionSettings(text)
        let pairs = settings.parameters(for: settings.hosts[0]).map { ($0.keyword, $0.value) }
        return Dictionary(pairs, uniquingKeysWith: { _, last in last })
    }

    @Test(
        "The name of a home has the hosts, the database and the store, but neither user nor password",
        arguments: [
            ("host=a,b port=1,2 user=u password=secret dbname=shop", "postgresql://a:1,b:2/shop/orders"),
            ("host=a,b port=7 user=u dbname=shop sslpassword=secret", "postgresql://a:7,b:7/shop/orders"),
            ("postgresql://u:secret@db/shop", "postgresql://db:5432/shop/orders"),
            ("postgresql://u:secret@[::1]:1/shop?application_name=x", "postgresql://[::1]:1/shop/orders"),
            ("hostaddr=10.0.0.1 user=u password=secret", "postgresql://10.0.0.1:5432/u/orders"),
        ]
    )
    func names(_ connection: String, _ name: String) throws {
        #expect(try PostgresHome(connection, store: "orders").name == name)
    }

    @Test(
        "A connection string that is not valid is refused without being quoted",
        arguments: [
            "host=a password=secret garbage-secret", "postgresql://u:secret@[::1/shop",
            "dbname='postgresql://u:secret@db/shop'", "host=a dbname='password=secret'",
            "host=a,b port=1,2,3 password=secret", "host=a password=a secret=b", "postgresql://u:a@b/c?secret=1",
            "host=a,b port=1,password=secret", "host=a port=159x9", "host=a port=0", "host=a port=65536",
        ]
    )
    func invalid(_ connection: String) {
        do {
            _ = try PostgresHome(connection, store: "orders")
            Issue.record("The string is taken.")
        } catch let error as StrataError {
            #expect(error.code == .invalidArgument)
            #expect(!"\(error)".contains("secret"))
        } catch {
            Issue.record(error)
        }
    }

    @Test(
        "A wrong keyword is named in a string without a password",
        arguments: [("host=a prt=1", "prt"), ("postgresql://a/b?sslmod=require", "sslmod")]
    )
    func wrongKeyword(_ connection: String, _ keyword: String) {
        let error = #expect(throws: StrataError.self) { try PostgresHome(connection, store: "orders") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("\"\(keyword)\"") == true)
    }

    @Test(
        "The lines of a failure become a part of a sentence",
        arguments: [
            ("connection refused\n\tIs the server running?\n", "connection refused (Is the server running?)"),
            ("server closed the connection.\n", "server closed the connection"), ("", ""),
            (
                "connection to server at \"::1\" failed: refused\n\tIs it running?\nconnection to server at \"a\" failed\n",
                "connection to server at \"::1\" failed: refused (Is it running?); connection to server at \"a\" failed"
            ),
        ]
    )
    func lines(_ text: String, _ message: String) {
        #expect(PostgresFailure(.connection, text).message == message)
    }

    @Test("A failed connection does not show the password")
    func failure() throws {
        let port = try Loopback.freePort()
        let home = try PostgresHome("host=127.0.0.1 port=\(port) user=u password=secret dbname=shop", store: "orders")
        do {
            _ = try home.newest()
            Issue.record("A server answers.")
        } catch let error as StrataError {
            #expect(error.code == .unreachable)
            let texts = "\(error) \(error.details) \(String(describing: error.underlying))"
            #expect(!texts.contains("secret"))
            #expect(texts.contains("\(port)"))
        }
    }

    @Test("The certificates of servers on other machines are checked, unless the caller says otherwise")
    func certificates() throws {
        let remotes = [
            "host=db", "host=localhost,db", "hostaddr=10.0.0.1 host=localhost", "service=shop", "host=127.example.com",
            "host=127.0.0.1.example.com", "host=127.", "host=128.0.0.1", "host=::2", "host=1::1",
            "host=localhost.example.com",
        ]
        for remote in remotes {
            #expect(try parameters(remote)["sslmode"] == "verify-full", "\(remote)")
        }
        let locals = [
            "host=localhost", "host=127.0.0.1,/var/run/postgresql", "hostaddr=::1 host=db", "dbname=shop",
            "host=127.255.3.4", "host=0:0:0:0:0:0:0:1",
        ]
        for local in locals {
            #expect(try parameters(local)["sslmode"] == nil, "\(local)")
        }
        #expect(try parameters("host=db sslmode=require")["sslmode"] == "require")
    }

    @Test("Settings of the caller replace those of Strata")
    func defaults() throws {
        let own = try parameters("host=a target_session_attrs=any tcp_user_timeout=1 client_encoding=LATIN1")
        #expect(own["target_session_attrs"] == "any")
        #expect(own["tcp_user_timeout"] == "1")
        #expect(own["keepalives_idle"] == "5")
        // Texts are sent as UTF-8 in any case.
        #expect(own["client_encoding"] == "UTF8")
        #expect(try parameters("host=a")["target_session_attrs"] == "read-write")
        #expect(try parameters("host=a application_name=x")["application_name"] == "x")
    }

    @Test("The name of a store is the name of a schema", arguments: [("", false), ("x", true), ("a\u{0}", false)])
    func storeNames(_ name: String, _ isValid: Bool) {
        let expected = isValid ? nil : StrataError.Code.invalidName
        #expect(code { _ = try PostgresHome("host=a", store: name) } == expected)
    }

    @Test("The name of a store has at most 63 bytes")
    func longStoreNames() {
        #expect(code { _ = try PostgresHome("host=a", store: String(repeating: "ü", count: 32)) } == .invalidName)
        #expect(code { _ = try PostgresHome("host=a", store: String(repeating: "ü", count: 31) + "x") } == nil)
    }

    @Test("Names that PostgreSQL cannot have get a hash at their end, within 63 bytes")
    func tableNames() {
        let long = [String(repeating: "ü", count: 40) + "1", String(repeating: "ü", count: 40) + "2"]
        let names = long.map { PostgresName.column($0) }
        #expect(Set(names).count == 2)
        let start = String(repeating: "ü", count: 23) + "_"
        for name in names { #expect(name.utf8.count <= 63 && name.hasPrefix(start), "\(name)") }
        #expect(PostgresName.table("strata_feed") != "strata_feed")
        #expect(PostgresName.table("xmin") == "xmin")
        // The hash, FNV-1a, must not change, because the tables exist.
        #expect(PostgresName.column("xmin") == "xmin_a6b44554604809a1")
        #expect(PostgresName.column("") == "_cbf29ce484222325")
    }
}
