import CBench
import Foundation

/// PostgreSQL's own programs, as clients of a server.
struct PlainSQL: Sendable {
    let port: Int

    private var connection: [String] { ["-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres"] }

    /// Runs statements, and returns the values of the last one as text.
    @discardableResult
    func query(_ sql: String) throws -> String {
        let options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", sql]
        return try Self.output(["psql"] + connection + options).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Deletes a schema, if it exists.
    func drop(_ schema: String) {
        _ = try? query("SET client_min_messages = warning; DROP SCHEMA IF EXISTS \"\(schema)\" CASCADE")
    }

    /// Runs a script of pgbench.
    ///
    /// - Parameters:
    ///   - clients: the number of connections, each with a thread.
    ///   - transactions: how often each client runs the script.
    /// - Returns: the seconds without the time for connecting, and the CPU time of all clients.
    func bench(
        _ script: String,
        clients: Int,
        transactions: Int,
        in folder: URL
    ) throws -> (seconds: Double, cpuSeconds: Double) {
        let file = folder.appending(path: "script.sql")
        try Data(script.utf8).write(to: file)
        let options = [
            "-n", "-M", "extended", "-c", "\(clients)", "-j", "\(clients)", "-t", "\(transactions)", "-f", file.path,
        ]
        let before = bench_cpu_seconds(1)
        let text = try Self.output(["pgbench"] + connection + options + ["postgres"])
        let cpuSeconds = bench_cpu_seconds(1) - before
        // tps = 477.123456 (without initial connection time)
        let words = text.split(separator: "\n").first { $0.hasPrefix("tps = ") }?.split(separator: " ") ?? []
        guard words.count > 2, let rate = Double(words[2]), rate > 0 else { throw FleetError("pgbench: \(text)") }
        return (Double(clients * transactions) / rate, cpuSeconds)
    }

    /// Reads the rows of a query into a file, by COPY.
    ///
    /// - Returns: the seconds with the time for connecting, and the CPU time of the client.
    func read(_ query: String, in folder: URL) throws -> (seconds: Double, cpuSeconds: Double) {
        let file = folder.appending(path: "rows.txt")
        let before = bench_cpu_seconds(1)
        let start = ContinuousClock.now
        try self.query("\\copy (\(query)) TO '\(file.path)'")
        return ((ContinuousClock.now - start) / .seconds(1), bench_cpu_seconds(1) - before)
    }

    /// How long a statement takes that does nothing, in microseconds.
    func roundTrip(in folder: URL) throws -> Double {
        let transactions = 500
        let run = try bench("SELECT 1;\n", clients: 1, transactions: transactions, in: folder)
        return run.seconds * 1e6 / Double(transactions)
    }

    /// Runs a program to its end, and returns its output.
    private static func output(_ command: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw FleetError("\(command[0]) has failed; its message is above") }
        return String(decoding: data, as: UTF8.self)
    }
}

/// The work of a row in plain SQL, as a program without Strata would write it.
///
/// Equal: the counted operations, their number, and how many of them share a transaction at most. Plain SQL has one
/// table, keeps no history, and keeps no copies. Its clients wait for each other only for equal rows.
struct PlainWork: Sendable {
    let row: FleetRow
    let schema: String
    let clients: Int
    /// The operations of all clients.
    let count: Int

    private var place: String { "\"\(schema)\"" }
    private var group: Int { row.group }

    /// Creates the table with its rows.
    var preparation: String {
        switch row.work {
        case .commits:
            """
            CREATE SCHEMA \(place);
            CREATE TABLE \(place).meter (id bigint PRIMARY KEY, count bigint NOT NULL);
            INSERT INTO \(place).meter SELECT n, 0 FROM generate_series(0, \(clients * group - 1)) AS n;
            """
        case .claims:
            """
            CREATE SCHEMA \(place);
            CREATE TABLE \(place).job (
                id bigint PRIMARY KEY, status int NOT NULL, worker int, payload bytea NOT NULL
            );
            INSERT INTO \(place).job SELECT n, 0, NULL, convert_to('{"number":' || n || '}', 'UTF8')
                FROM generate_series(1, \(count)) AS n;
            CREATE INDEX ON \(place).job (id) WHERE status = 0;
            CREATE INDEX ON \(place).job (worker) WHERE status = 1;
            ANALYZE \(place).job;
            """
        case .copies:
            """
            CREATE SCHEMA \(place);
            CREATE TABLE \(place).item (
                id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, count bigint NOT NULL, _version bigint NOT NULL
            );
            INSERT INTO \(place).item (id, name, count, _version) \(ItemRows.select(count));
            ANALYZE \(place).item;
            """
        }
    }

    /// One transaction, or the two that claim and complete; or the query of the rows that are copied.
    var script: String {
        switch row.work {
        case .commits where group == 1:
            "UPDATE \(place).meter SET count = count + 1 WHERE id = :client_id;\n"
        case .commits:
            // All statements are one round trip.
            (["\\startpipeline", "BEGIN;"]
                + (0..<group).map {
                    "UPDATE \(place).meter SET count = count + 1 WHERE id = :client_id::int * \(group) + \($0);"
                } + ["COMMIT;", "\\endpipeline", ""]).joined(separator: "\n")
        case .claims:
            """
            WITH claimed AS MATERIALIZED (SELECT id FROM \(place).job WHERE status = 0 ORDER BY id LIMIT \(group) \
            FOR UPDATE SKIP LOCKED) UPDATE \(place).job SET status = 1, worker = :client_id FROM claimed \
            WHERE job.id = claimed.id RETURNING job.id, job.payload;
            UPDATE \(place).job SET status = 2 WHERE worker = :client_id AND status = 1;

            """
        case .copies: "SELECT id, name, count, _version FROM \(place).item ORDER BY id"
        }
    }

    /// How often each client runs the script.
    var transactions: Int { count / clients / group }

    /// A query that is true if all of the work is done.
    var check: String {
        switch row.work {
        case .commits: "SELECT sum(count) = \(count) FROM \(place).meter"
        case .claims: "SELECT count(*) = \(count) FROM \(place).job WHERE status = 2"
        case .copies: "SELECT count(*) = \(count) FROM \(place).item"
        }
    }
}

/// The rows that both sides copy: an id, a unique name, a number, and a version.
enum ItemRows {
    /// A query of the rows, whose ids begin at 1.
    static func select(_ count: Int) -> String {
        "SELECT n, 'item ' || n, n % 1000, 0 FROM generate_series(1, \(count)) AS n"
    }
}
