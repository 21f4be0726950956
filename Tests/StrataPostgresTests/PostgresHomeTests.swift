import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Synchronization
import Testing

@testable import StrataPostgres

@Suite("A home in PostgreSQL", .timeLimit(.minutes(3))) struct PostgresHomeTests {
    @Test("The home keeps its promises", arguments: HomePromise.allCases, [true, false])
    func promises(_ promise: HomePromise, preparesStatements: Bool) throws {
        let address = try PostgresCluster.shared().address
        let store = "promise \(UUID().uuidString)"
        try promise.check { try PostgresHome(address, store: store, preparesStatements: preparesStatements) }
    }

    @Test("Other programs find a table for each model, with the types of its columns and a primary key only")
    func tables() throws {
        let fixture = try HomeFixture()
        _ = try fixture.home()
        let columns = try fixture.texts(
            """
            SELECT attname || ' ' || format_type(atttypid, atttypmod) || ' ' || COALESCE(collname, '-') || ' '
                || CASE WHEN attnotnull THEN 'NOT NULL' ELSE 'NULL' END
            FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
            WHERE attrelid = '"\(fixture.store)"."Item"'::regclass AND attnum > 0 ORDER BY attnum
            """
        )
        #expect(
            columns == [
                "id bigint - NOT NULL", "number bigint - NULL", "size double precision - NULL", "name text C NULL",
                "content bytea - NULL",
            ]
        )
        let constraints = try fixture.texts(
            """
            SELECT pg_get_constraintdef(oid) FROM pg_constraint
            WHERE conrelid = '"\(fixture.store)"."Item"'::regclass AND contype <> 'n'
            """
        )
        #expect(constraints == ["PRIMARY KEY (id)"])
    }

    @Test("Updates of different columns in one transaction change only these columns")
    func updates() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let store = try SampleStore()
        try home.publishNext(
            store.changes {
                for id in Int64(1)...4 {
                    try store.insert([.integer(id), .integer(id), .real(0.5), .text("a"), .blob(Data([1]))])
                }
            }
        )
        try home.publishNext(
            store.changes {
                try store.update(1, [("number", .null)])
                try store.update(2, [("number", .integer(20)), ("name", .text("b"))])
                try store.update(3, [("content", .blob(Data())), ("size", .real(3))])
                try store.delete(4)
                try store.insert([.integer(5), .null, .null, .null, .null])
            }
        )
        #expect(
            Set(try home.rows(of: "Item")) == [
                [.integer(1), .null, .real(0.5), .text("a"), .blob(Data([1]))],
                [.integer(2), .integer(20), .real(0.5), .text("b"), .blob(Data([1]))],
                [.integer(3), .integer(3), .real(3), .text("a"), .blob(Data())],
                [.integer(5), .null, .null, .null, .null],
            ]
        )
    }

    @Test("A transaction with more rows than one statement takes is stored as a whole")
    func largeTransaction() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let store = try SampleStore()
        let content = Data(repeating: 7, count: 1 << 20)
        try home.publishNext(
            store.changes {
                for id in Int64(1)...25_000 { try store.insert([.integer(id), .integer(-id), .null, .null, .null]) }
                // More than the array of one statement and the buffer of the connection may have.
                for id in Int64(25_001)...25_020 {
                    try store.insert([.integer(id), .null, .null, .null, .blob(content)])
                }
            }
        )
        let rows = try home.rows(of: "Item")
        #expect(rows.count == 25_020)
        #expect(Set(rows.map { $0[0] }).count == 25_020)
        #expect(rows.count(where: { $0[4] == .blob(content) }) == 20)
        try home.publishNext(store.changes { for id in Int64(1)...25_020 { try store.delete(id) } })
        #expect(try home.rows(of: "Item").isEmpty)
    }

    @Test("A text with U+0000 is refused before anything is sent, and the lock is free")
    func textWithNull() throws {
        let fixture = try HomeFixture()
        let (home, other) = (try fixture.home(), try fixture.home())
        // SQLite ends a text at the first NUL when it binds the text. So the bytes of a changeset are changed.
        let marked = try SampleStore.insertion(named: "a#b")
        var bytes = marked.bytes
        let mark = try #require(bytes.firstIndex(of: UInt8(ascii: "#")))
        bytes[mark] = 0
        let position = try home.newest()
        _ = try home.lock(after: position, limit: 1)
        let transaction = home.transaction(after: position, HomeChanges(bytes: bytes))
        do {
            try home.publish(transaction)
            Issue.record("The text is stored.")
        } catch let error as StrataError {
            #expect(error.code == .validation)
            #expect(error.details.map(\.column) == ["name"])
            #expect(error.details.map(\.id) == [1])
        }
        try other.publishNext(marked)
        #expect(try other.outcome(of: transaction.position.id) == false)
    }

    @Test("A node that is further behind than the retention learns that the transactions are gone")
    func retention() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home(retention: PostgresHome.Retention(count: 10))
        var positions: [HomePosition] = []
        // Every 64th transaction prunes.
        for id in Int64(1)...64 { positions.append(try home.publishNext(SampleStore.insertion(id))) }
        #expect(code { _ = try home.transactions(after: .start, limit: 100) } == .homeExpired)
        #expect(code { _ = try home.transactions(after: positions[52], limit: 100) } == .homeExpired)
        #expect(code { _ = try home.lock(after: positions[52], limit: 100) } == .homeExpired)
        // The last transaction that was deleted is the one before the first of the rest.
        let kept = try home.transactions(after: positions[53], limit: 100).transactions
        #expect(kept.map(\.position) == Array(positions[54...]))
        #expect(try home.lock(after: positions[63], limit: 100).isEmpty)
        home.unlock()
    }

    @Test("Large transactions come in several portions")
    func portions() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let store = try SampleStore()
        let content = Data(repeating: 7, count: 3 << 20)
        var positions: [HomePosition] = []
        for id in Int64(1)...5 {
            positions.append(
                try home.publishNext(
                    store.changes { try store.insert([.integer(id), .null, .null, .null, .blob(content)]) }
                )
            )
        }
        let first = try home.transactions(after: .start, limit: 100).transactions.map(\.position)
        // The third one passes 8 MiB.
        #expect(first == Array(positions[..<3]))
        let rest = try home.transactions(after: positions[2], limit: 100).transactions
        #expect(rest.map(\.position) == Array(positions[3...]))
        // The limit of the lock is the number alone: fewer transactions than the limit are all.
        #expect(try home.lock(after: .start, limit: 100).map(\.position) == positions)
        home.unlock()
    }

    @Test("Transactions that are too old are deleted, except the newest one")
    func retentionByAge() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home(retention: PostgresHome.Retention(age: 3600))
        for id in Int64(1)...63 { try home.publishNext(SampleStore.insertion(id)) }
        try fixture.query("UPDATE \"\(fixture.store)\".strata_feed SET at = now() - interval '2 hours'")
        let last = try home.publishNext(SampleStore.insertion(64))
        #expect(try fixture.query("SELECT number FROM \"\(fixture.store)\".strata_feed").count == 1)
        #expect(try home.newest() == last)
    }

    @Test("Nodes that have been silent for a day are removed with the next report")
    func silentNodes() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        _ = try home.report(.start, of: UUID(), named: "old")
        try fixture.query("UPDATE \"\(fixture.store)\".strata_nodes SET at = now() - interval '25 hours'")
        let silence = try #require(try home.nodes().first?.silence)
        #expect(silence > 86_400)
        _ = try home.report(.start, of: UUID(), named: "new")
        #expect(try home.nodes().map(\.name) == ["new"])
    }

    @Test("While another session locks the table of nodes, reports give up, and commits succeed")
    func lockedNodes() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let deadline = Deadline(seconds: 60)
        let other = try PostgresConnection.open(
            ConnectionSettings(fixture.cluster.address),
            preparesStatements: false,
            until: deadline
        )
        try other.run(
            [
                PostgresStatement(sql: "BEGIN"),
                PostgresStatement(sql: "LOCK TABLE \"\(fixture.store)\".strata_nodes"),
            ],
            until: deadline
        )
        #expect(code { _ = try home.report(.start, of: UUID(), named: "node") } == .busy)
        let position = try home.publishNext(SampleStore.insertion(1))
        #expect(try home.reserveIDs(1) > 0)
        try other.rollBack(until: deadline)
        #expect(try home.report(position, of: UUID(), named: "node").position == position)
        #expect(try home.nodes().map(\.transactionsBehind) == [0])
    }

    @Test("A copy gets the rows of a table in the order of their ids, in portions of at most 1,000 rows and about 8 MB")
    func portionsOfCopy() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        // The server has the rows in another order than that of their ids.
        try fixture.query(
            """
            INSERT INTO "\(fixture.store)"."Item" (id, number)
            SELECT n, n FROM generate_series(3001, 1001, -1) AS n
            """
        )
        try fixture.insertLargeRows(20)
        var ids: [StoredValue] = []
        var portions: [(rowCount: Int, byteCount: Int)] = []
        _ = try home.copy { table, rows in
            guard table == "Item" else { return }
            ids += rows.map { $0[0] }
            let byteCount = rows.reduce(0) { sum, row in
                guard case .blob(let data) = row[4] else { return sum }
                return sum + data.count
            }
            portions.append((rows.count, byteCount))
        }
        let expected = (Array(Int64(1)...20) + Array(Int64(1001)...3001)).map { StoredValue.integer($0) }
        #expect(ids == expected)
        #expect(portions.count > 4)
        #expect(portions.allSatisfy { (1...1000).contains($0.rowCount) && $0.byteCount <= 10_000_000 })
    }

    @Test("A copy that begins during a migration never has the earlier tables without their rows")
    func copyDuringMigration() throws {
        let fixture = try HomeFixture()
        let (home, reader) = (try fixture.home(), try fixture.home(timeout: 60))
        let position = try home.publishNext(SampleStore.insertion(1))
        let item = SampleStore.description.tables[0].name
        var description = SampleStore.description
        description.schema = "the schema after the migration"
        description.generation = 1
        let transaction = HomeTransaction(
            previous: position,
            position: HomePosition(number: position.number + 1, id: UUID()),
            node: UUID(),
            time: Date(),
            changes: HomeChanges(bytes: Data()),
            generation: 1
        )
        let migration = HomeMigration(
            transaction: transaction,
            description: description,
            replacedTables: [UTF8Text(item)]
        )
        let copy = CopyOutcome()
        let isMigrated = try home.migrate(within: 30) { _ in
            migration
        } _: { insert in
            Thread.detachNewThread {
                let found = code { _ = try reader.copy { _, _ in } }
                copy.code.withLock { $0 = found }
                copy.hasEnded.signal()
            }
            // The copy waits for the table that the migration has created anew.
            let waiting = """
                SELECT 1 FROM pg_locks
                WHERE NOT granted AND relation = '"\(fixture.store)"."\(item)"'::regclass
                """
            for _ in 0..<3000 {
                if try fixture.query(waiting).count > 0 { break }
                Thread.sleep(forTimeInterval: 0.01)
            }
            try insert(item, [[.integer(1), .null, .null, .null, .null]])
        }
        #expect(isMigrated)
        #expect(copy.hasEnded.wait(timeout: .now() + 60) == .success)
        #expect(copy.code.withLock { $0 } == .schemaMismatch)
    }

    @Test("The number of rows is known as soon as the server has analysed the tables")
    func rowCount() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let store = try SampleStore()
        try home.publishNext(
            store.changes {
                for id in Int64(1)...100 { try store.insert([.integer(id), .null, .null, .null, .null]) }
            }
        )
        #expect(try home.open(SampleStore.description, busyTimeout: 60).rowCount == nil)
        try fixture.query("ANALYZE \"\(fixture.store)\".\"Item\"")
        #expect(try home.open(SampleStore.description, busyTimeout: 60).rowCount == 100)
    }

    @Test("With `synchronous: .normal`, commits with and without the lock do not wait for a standby")
    func withoutFlush() throws {
        let cluster = try PostgresCluster()
        let fixture = try HomeFixture(on: cluster)
        let (full, normal) = (try fixture.home(timeout: 2), try fixture.home(synchronous: .normal))
        // Without a standby of this name, a commit that waits for one does not end. The server reads the line soon.
        try cluster.configure("synchronous_standby_names = 'absent'")
        var outcome: StrataError.Code?
        var id: Int64 = 0
        while outcome == nil, id < 1000 {
            id += 1
            outcome = code { try full.publishNext(SampleStore.insertion(id)) }
            Thread.sleep(forTimeInterval: 0.01)
        }
        #expect(outcome == .uncertain)
        // The waiting session has the lock.
        try fixture.terminateConnections()
        try normal.publishNext(SampleStore.insertion(id + 1))
        let transaction = normal.transaction(after: try normal.newest(), try SampleStore.insertion(id + 2))
        #expect(try normal.publishIfNewest(transaction))
        #expect(try normal.newest() == transaction.position)
    }

    @Test("A schema that exists already, and a store whose name needs quotes, can be used")
    func schemas() throws {
        let fixture = try HomeFixture(store: "Größe \"\(UUID().uuidString)\"; --'")
        let quoted = fixture.store.replacingOccurrences(of: "\"", with: "\"\"")
        try fixture.query("CREATE SCHEMA \"\(quoted)\"")
        let (home, other) = (try fixture.home(), try fixture.home())
        let notified = DispatchSemaphore(value: 0)
        let position = try home.publishNext(SampleStore.insertion(1))
        #expect(try other.newest() == position)
        // The first call follows the connection, the second the notification.
        other.listen { notified.signal() }
        #expect(notified.wait(timeout: .now() + 30) == .success)
        try home.publishNext(SampleStore.insertion(2))
        #expect(notified.wait(timeout: .now() + 30) == .success)
    }
}

/// The end of a copy on another thread.
private final class CopyOutcome: Sendable {
    /// The code of the error; nil without an error, and before the end.
    let code = Mutex<StrataError.Code?>(nil)
    let hasEnded = DispatchSemaphore(value: 0)
}

extension SampleStore {
    /// Changes that insert the row 1 with a name.
    fileprivate static func insertion(named name: String) throws -> HomeChanges {
        let store = try SampleStore()
        return try store.changes { try store.insert([.integer(1), .null, .null, .text(name), .null]) }
    }
}
