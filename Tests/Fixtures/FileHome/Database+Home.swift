import Foundation
import GRDB
import Strata

/// The tables `home`, which has one row, and `feed`. The tables of the rows have a prefix, so that their names differ.
extension Database {
    /// Creates the tables of a store without rows.
    func createHome(_ state: HomeState) throws {
        try execute(
            sql: """
                CREATE TABLE home (
                    id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, uuid BLOB NOT NULL,
                    fingerprint INTEGER NOT NULL, description TEXT NOT NULL
                );
                CREATE TABLE feed (
                    number INTEGER PRIMARY KEY, previous_uuid BLOB NOT NULL, uuid BLOB NOT NULL, node BLOB NOT NULL,
                    time REAL NOT NULL, changes BLOB NOT NULL, generation INTEGER
                );
                """
        )
        for table in state.description.tables { try execute(sql: table.creation) }
        let text = String(decoding: try JSONEncoder().encode(state.description), as: UTF8.self)
        try execute(
            sql: "INSERT INTO home VALUES (1, ?, ?, ?, ?)",
            arguments: [state.position.number, state.position.id, Int(state.fingerprint), text]
        )
    }

    func homeState() throws -> HomeState {
        let row = try homeRow()
        let fingerprint: Int = row["fingerprint"]
        let description = try self.description()
        var rowCount: Int64 = 0
        for table in description.tables {
            rowCount += try Int64.fetchOne(self, sql: "SELECT count(*) FROM \(table.identifier)") ?? 0
        }
        return HomeState(
            fingerprint: UInt16(fingerprint),
            description: description,
            position: HomePosition(number: row["number"], id: row["uuid"]),
            rowCount: rowCount
        )
    }

    /// The newest description of the store.
    func description() throws -> HomeDescription {
        let text: String = try homeRow()["description"]
        return try JSONDecoder().decode(HomeDescription.self, from: Data(text.utf8))
    }

    /// The position of the newest transaction.
    func position() throws -> HomePosition {
        let row = try homeRow()
        return HomePosition(number: row["number"], id: row["uuid"])
    }

    /// Takes the lock.
    ///
    /// - Parameter limit: the seconds to wait; nil for the connection's timeout.
    /// - Throws: `busy` after this time.
    func beginLock(within limit: TimeInterval? = nil) throws {
        if let limit {
            let timeout = try Int.fetchOne(self, sql: "PRAGMA busy_timeout") ?? 0
            try execute(sql: "PRAGMA busy_timeout = \(Int(min(limit, 3_600) * 1_000))")
            defer { try? execute(sql: "PRAGMA busy_timeout = \(timeout)") }
            return try beginLock()
        }
        do { try beginTransaction(.immediate) } catch DatabaseError.SQLITE_BUSY {
            throw StrataError(.busy, "Another node has had the lock of the home for the whole timeout.")
        }
    }

    /// Takes the lock, unless another connection has it.
    ///
    /// - Returns: whether the connection has the lock.
    func beginIfFree() throws -> Bool {
        let timeout = try Int.fetchOne(self, sql: "PRAGMA busy_timeout") ?? 0
        try execute(sql: "PRAGMA busy_timeout = 0")
        defer { try? execute(sql: "PRAGMA busy_timeout = \(timeout)") }
        do { try beginTransaction(.immediate) } catch DatabaseError.SQLITE_BUSY { return false }
        return true
    }

    private func homeRow() throws -> Row {
        guard let row = try Row.fetchOne(self, sql: "SELECT * FROM home") else {
            throw StrataError(.damagedStore, "The home has no state.")
        }
        return row
    }

    private func setPosition(_ position: HomePosition) throws {
        try execute(sql: "UPDATE home SET number = ?, uuid = ?", arguments: [position.number, position.id])
    }
}

// MARK: - The feed

extension Database {
    func transactions(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try checkPosition(position)
        return try Row.fetchAll(
            self,
            sql: "SELECT * FROM feed WHERE number > ? ORDER BY number LIMIT ?",
            arguments: [position.number, limit]
        ).map { HomeTransaction(row: $0) }
    }

    /// - Throws: `homeBehind` if the home does not know the position, and `homeExpired` if the transactions after the
    ///   position were removed.
    private func checkPosition(_ position: HomePosition) throws {
        let newest = try self.position()
        if position == newest { return }
        guard position.number < newest.number else {
            throw StrataError(.homeBehind, "The newest transaction of the home is \(newest.number).")
        }
        let next = try Row.fetchOne(self, sql: "SELECT * FROM feed WHERE number = ?", arguments: [position.number + 1])
        guard let next else {
            throw StrataError(.homeExpired, "The home does not keep transaction \(position.number + 1) any more.")
        }
        guard HomeTransaction(row: next).previous == position else {
            throw StrataError(.homeBehind, "Transaction \(position.number) of the home has another id.")
        }
    }

    /// Stores a transaction and its rows.
    ///
    /// - Throws: `invalidState` if the transaction is not based on the newest one.
    func append(_ transaction: HomeTransaction, of description: HomeDescription) throws {
        let (previous, position) = (transaction.previous, transaction.position)
        guard try previous == self.position(), position.number == previous.number + 1 else {
            throw StrataError(.invalidState, "The transaction is not based on the newest one of the home.")
        }
        try apply(transaction.changes, of: description)
        try execute(
            sql: "INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                position.number, previous.id, position.id, transaction.node,
                transaction.time.timeIntervalSinceReferenceDate, transaction.changes.bytes, transaction.generation,
            ]
        )
        try setPosition(position)
    }

    /// Changes the tables, the description and the rows of the tables that are not replaced. The replaced tables are
    /// empty afterwards.
    func migrate(_ migration: HomeMigration) throws {
        let (old, new) = (try description(), migration.description)
        let oldTables = Dictionary(uniqueKeysWithValues: old.tables.map { ($0.name, $0) })
        let names = Set(new.tables.map(\.name))
        for table in old.tables where !names.contains(table.name) || migration.replaces(table.name) {
            try execute(sql: "DROP TABLE \(table.identifier)")
        }
        for table in new.tables {
            guard let before = oldTables[table.name], !migration.replaces(table.name) else {
                try execute(sql: table.creation)
                continue
            }
            guard table.columns.starts(with: before.columns) else {
                throw StrataError(.invalidState, "The columns of \(table.name) do not begin with the earlier ones.")
            }
            for column in table.columns.dropFirst(before.columns.count) {
                let value = column.defaultValue?.databaseValue ?? DatabaseValue.null
                let literal = try String.fetchOne(self, sql: "SELECT quote(?)", arguments: [value]) ?? "NULL"
                let definition = table.definition(of: column)
                try execute(sql: "ALTER TABLE \(table.identifier) ADD COLUMN \(definition) DEFAULT \(literal)")
            }
        }
        let text = String(decoding: try JSONEncoder().encode(new), as: UTF8.self)
        try execute(sql: "UPDATE home SET description = ?", arguments: [text])
        try append(migration.transaction, of: new)
    }

    func hasTransaction(_ id: UUID) throws -> Bool {
        try Bool.fetchOne(self, sql: "SELECT EXISTS (SELECT 1 FROM feed WHERE uuid = ?)", arguments: [id]) ?? false
    }

    /// Removes the transactions up to a number from the feed.
    func prune(through number: Int64) throws {
        try execute(sql: "DELETE FROM feed WHERE number <= ?", arguments: [number])
    }

    /// Undoes the transactions after a number, the newest first.
    func rewind(to number: Int64, of description: HomeDescription) throws {
        var position = try self.position()
        while position.number > number {
            let sql = "SELECT * FROM feed WHERE number = ?"
            guard let row = try Row.fetchOne(self, sql: sql, arguments: [position.number]) else {
                throw StrataError(.homeExpired, "The home does not keep transaction \(position.number) any more.")
            }
            let transaction = HomeTransaction(row: row)
            guard transaction.generation == nil else {
                throw StrataError(.invalidState, "Transaction \(position.number) of the home is a migration.")
            }
            try apply(transaction.changes, isReversed: true, of: description)
            try execute(sql: "DELETE FROM feed WHERE number = ?", arguments: [position.number])
            position = transaction.previous
        }
        try setPosition(position)
    }
}

extension HomeTransaction {
    /// The transaction of a row of the feed.
    fileprivate init(row: Row) {
        let number: Int64 = row["number"]
        self.init(
            previous: HomePosition(number: number - 1, id: row["previous_uuid"]),
            position: HomePosition(number: number, id: row["uuid"]),
            node: row["node"],
            time: Date(timeIntervalSinceReferenceDate: row["time"]),
            changes: HomeChanges(bytes: row["changes"]),
            generation: row["generation"]
        )
    }
}
