import CStrataPostgres
import Foundation
import Strata

/// Where a server is, and how to connect to it: a connection string of libpq, with Strata's defaults.
struct ConnectionSettings: Sendable {
    /// One of the servers of the connection string.
    struct Host: Sendable {
        /// A name, an address, or the folder of a Unix socket; empty for libpq's default.
        var name: String
        /// An address that is used instead of a look-up of the name; empty for a look-up.
        var address: String
        var port: String

        /// Whether the connection does not leave this machine.
        var isLocal: Bool {
            let place = address.isEmpty ? name : address
            return place.isEmpty || place.hasBytePrefix("/") || place.hasBytePrefix("@")
                || place.hasSameBytes(as: "localhost") || Self.isLoopback(place)
        }

        /// Whether a text is an address of 127.0.0.0/8, or ::1. A name such as `127.example.com` is not.
        private static func isLoopback(_ text: String) -> Bool {
            var four = in_addr()
            if inet_pton(AF_INET, text, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
            var six = in6_addr()
            guard inet_pton(AF_INET6, text, &six) == 1 else { return false }
            return withUnsafeBytes(of: six) { bytes in
                bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
            }
        }

        fileprivate var description: String {
            let place = name.isEmpty ? address : name
            let isVersion6 = place.containsByte(of: ":")
            return (isVersion6 ? "[\(place)]" : place) + (port.isEmpty ? ":5432" : ":\(port)")
        }
    }

    struct Parameter: Sendable {
        let keyword: String
        let value: String
    }

    /// The servers, in the order in which they are tried.
    let hosts: [Host]
    /// The seconds for one attempt to connect to a host; nil for a share of the call's time.
    let attemptLimit: TimeInterval?
    /// The hosts and the database. Contains neither the user nor a password.
    let place: String
    private let shared: [Parameter]

    /// Reads a connection string.
    ///
    /// - Throws: `invalidArgument`. The message does not quote the string, which may contain a password.
    init(_ text: String) throws {
        let given = try GivenOptions(text)
        let hosts = try Self.hosts(given)
        self.hosts = hosts
        let limit = given["connect_timeout"].flatMap { TimeInterval($0) } ?? 0
        // As in libpq, 0 means no limit, and 2 s are the minimum.
        attemptLimit = limit > 0 ? max(limit, 2) : nil
        let database = given["dbname"] ?? given["user"] ?? ""
        // libpq would read such a name as a connection string, which may contain a password.
        guard !database.containsByte(of: "="), !database.hasBytePrefix("postgres://"),
            !database.hasBytePrefix("postgresql://")
        else {
            throw StrataError(
                .invalidArgument,
                "The name of the database is itself a connection string. Give this string without dbname=."
            )
        }
        place = "postgresql://\(hosts.map(\.description).joined(separator: ","))/\(database)"

        var shared = given.inText.filter { !Self.ownKeywords.contains(UTF8Text($0.keyword)) }
        func add(_ keyword: String, _ value: String) {
            if given[keyword] == nil { shared.append(Parameter(keyword: keyword, value: value)) }
        }
        add("fallback_application_name", "strata")
        add("target_session_attrs", "read-write")
        // A connection that the network swallows ends after 5 s with unacknowledged data, and after 11 s without.
        add("tcp_user_timeout", "5000")
        add("keepalives_idle", "5")
        add("keepalives_interval", "2")
        add("keepalives_count", "3")
        let isLocal = given["service"] == nil && hosts.allSatisfy(\.isLocal)
        if !isLocal { add("sslmode", "verify-full") }
        shared.append(Parameter(keyword: "client_encoding", value: "UTF8"))
        self.shared = shared
    }

    /// The parameters that do not come from the connection string as they are.
    private static let ownKeywords: Set<UTF8Text> = ["host", "hostaddr", "port", "connect_timeout", "client_encoding"]

    /// The parameters of a connection to one of the hosts.
    ///
    /// The hosts are tried one by one, because libpq has no limit of time for one host of several when it does not
    /// block.
    func parameters(for host: Host) -> [Parameter] {
        let own = [
            Parameter(keyword: "host", value: host.name), Parameter(keyword: "hostaddr", value: host.address),
            Parameter(keyword: "port", value: host.port),
        ]
        return shared + own.filter { !$0.value.isEmpty }
    }

    /// The hosts of a connection string, whose lists libpq separates by commas.
    private static func hosts(_ given: GivenOptions) throws -> [Host] {
        let (names, addresses, ports) = (given.list("host"), given.list("hostaddr"), given.list("port"))
        let count = max(names.count, addresses.count, 1)
        for port in ports.map({ $0.trimmingCharacters(in: .whitespacesAndNewlines) }) where !port.isEmpty {
            guard (1...65_535).contains(Int(port) ?? 0) else {
                throw StrataError(.invalidArgument, "A port of the connection is not a number from 1 to 65535.")
            }
        }
        func element(_ list: [String], _ index: Int) throws -> String {
            if list.isEmpty { return "" }
            guard list.count == count else {
                throw StrataError(.invalidArgument, "The lists host, hostaddr and port have different lengths.")
            }
            return list[index]
        }
        return try (0..<count).map { index in
            Host(
                name: try element(names, index),
                address: try element(addresses, index),
                // One port is that of all hosts.
                port: ports.count == 1 ? ports[0] : try element(ports, index)
            )
        }
    }
}

extension ConnectionSettings: CustomStringConvertible, CustomReflectable {
    var description: String { place }

    /// Leaves the parameters out, which may contain a password, so that `dump` of a home does not print it.
    var customMirror: Mirror { Mirror(self, children: ["place": place]) }
}

/// The options of a connection string, and those that libpq takes from the environment.
private struct GivenOptions {
    private(set) var inText: [ConnectionSettings.Parameter] = []
    private var values: [UTF8Text: String] = [:]

    init(_ text: String) throws {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            let reason = message.flatMap { Self.reason(String(cString: $0), in: text) }
            PQfreemem(message)
            throw StrataError(
                .invalidArgument,
                "The connection string is not valid\(reason.map { ": \($0)" } ?? ""). Give keywords and values "
                    + "(host=db dbname=shop), or a URI (postgresql://db/shop)."
            )
        }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            let name = String(cString: keyword)
            if let value = option.pointee.val {
                let value = String(cString: value)
                inText.append(ConnectionSettings.Parameter(keyword: name, value: value))
                values[UTF8Text(name)] = value
            } else if let variable = option.pointee.envvar, let value = getenv(variable) {
                values[UTF8Text(name)] = String(cString: value)
            }
            option += 1
        }
    }

    /// The message of libpq about a string, if it names a wrong keyword; nil for messages that quote other parts.
    ///
    /// A password with a space that is not quoted contains what looks like keywords. So nothing is quoted if the string
    /// may contain a password, under its keyword or before the host of a URI.
    private static func reason(_ message: String, in text: String) -> String? {
        let namesKeyword = ["invalid connection option", "invalid URI query parameter"].contains {
            message.hasBytePrefix($0)
        }
        let mayContainPassword = ["pass", "pw", "secret", "@"].contains { text.lowercased().contains($0) }
        return namesKeyword && !mayContainPassword ? PostgresFailure(.format, message).message : nil
    }

    /// The value of an option; nil if neither the string nor the environment gives it.
    subscript(keyword: String) -> String? { values[UTF8Text(keyword)] }

    func list(_ keyword: String) -> [String] { self[keyword]?.split(atBytes: ",", omitsEmpty: false) ?? [] }
}
