public import Foundation
public import Strata

extension PostgresHome {
    /// How the server refuses a table that another session has locked: after the time for a lock, and at once if that
    /// session waits for this one.
    private static let tableLocks: [PostgresFailure.Kind] = [.server(sqlState: "55P03"), .server(sqlState: "40P01")]

    public func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try describingFailures {
            // A new connection, which ends with the call. After an error, the server rolls the transaction back.
            let connection = try PostgresConnection.open(
                settings,
                preparesStatements: preparesStatements,
                until: Deadline(seconds: timeout)
            )
            let state = try lockForMigration(connection, within: limit)
            guard let migration = try plan(state) else {
                try connection.rollBack(until: Deadline(seconds: timeout))
                return false
            }
            try changeTables(migration, from: state.description, on: connection)
            var replaced = migration.description
            replaced.tables.removeAll { !migration.replaces($0.name) }
            try insertRows(of: replaced, on: connection, fill)
            try publish(migration, on: connection)
            try endCreation(connection)
            return true
        }
    }

    /// Takes the lock of the home, and reads its state.
    private func lockForMigration(_ connection: PostgresConnection, within limit: TimeInterval) throws -> HomeState {
        let lock = sql.lockPosition()
        let beginning = [
            HomeSQL.begin,
            HomeSQL.set("idle_in_transaction_session_timeout", seconds: max(limit, Self.workLimit)),
            HomeSQL.set("lock_timeout", seconds: limit), HomeSQL.set("statement_timeout", seconds: limit),
        ]
        do {
            let results = try connection.run(
                beginning + [
                    lock, sql.selectHome(), HomeSQL.set("statement_timeout", seconds: nil),
                    // Other nodes wait for this one, which does not wait long for programs that read the tables.
                    HomeSQL.set("lock_timeout", seconds: lockTimeout),
                ],
                until: Deadline(seconds: limit + timeout)
            )
            return try state(results[beginning.count + 1])
        } catch let failure as PostgresFailure
            where failure.refusedStatement == beginning.count && failure.kind == .server(sqlState: "57014")
        {
            throw PostgresFailure(.server(sqlState: "55P03"), failure.message)
        }
    }

    /// Changes the tables and the description. The replaced tables are empty afterwards.
    private func changeTables(
        _ migration: HomeMigration,
        from old: HomeDescription,
        on connection: PostgresConnection
    ) throws {
        let new = migration.description
        let names = Set(new.tables.map { UTF8Text($0.name) })
        let replaced = migration.replacedTables
        var known: [UTF8Text: HomeTable] = [:]
        var (changed, statements): ([TableSQL], [String]) = ([], [])
        for table in old.tables {
            let name = UTF8Text(table.name)
            known[name] = table
            guard replaced.contains(name) || !names.contains(name) else { continue }
            let definition = try TableSQL(table, store: sql.store)
            changed.append(definition)
            statements.append(definition.drop)
        }
        for table in new.tables {
            let name = UTF8Text(table.name)
            let definition = try TableSQL(table, store: sql.store)
            guard let before = known[name], !replaced.contains(name) else {
                statements.append(definition.create)
                continue
            }
            guard table.columns.starts(with: before.columns) else {
                throw StrataError(
                    .invalidArgument,
                    "The columns of the table \(table.name) do not begin with those that the store has."
                )
            }
            if before.columns.count < table.columns.count {
                changed.append(definition)
                statements.append(definition.add(columnsFrom: before.columns.count))
            }
        }
        // Copies lock the tables in the same order. Otherwise, each could wait for a table that the other has.
        changed.sort { UTF8Text($0.table.name) < UTF8Text($1.table.name) }
        statements = changed.map(\.lockForMigration) + statements
        do {
            try connection.run(
                statements.map { PostgresStatement(sql: $0, isPrepared: false) }
                    + [sql.updateHome(new, try Self.lists(of: new))],
                until: Deadline(seconds: timeout + lockTimeout * Double(statements.count + 1))
            )
        } catch let failure as PostgresFailure where Self.tableLocks.contains(failure.kind) {
            throw StrataError(
                .busy,
                "Other sessions read tables of \(name) that the migration changes, for example to back them up or to make a "
                    + "working copy. Nothing was changed. Open the store again when they have ended.",
                underlying: failure
            )
        }
    }

    /// Changes the rows of the other tables, and adds the migration to the transactions of the home.
    private func publish(_ migration: HomeMigration, on connection: PostgresConnection) throws {
        let transaction = migration.transaction
        guard transaction.changes.bytes.count < 1_000_000_000 else {
            throw StrataError(.validation, "The changes of a migration have more than 1 GB. Divide its steps.")
        }
        var tables: [UTF8Text: TableSQL] = [:]
        for table in migration.description.tables {
            tables[UTF8Text(table.name)] = try TableSQL(table, store: sql.store)
        }
        let statements =
            try [sql.advance(transaction)] + transaction.changes.statements(for: tables)
            + [sql.insertTransaction(transaction), sql.notify(listener.ownPayload)]
        let megabytes = Double(statements.reduce(0) { $0 + $1.parameters.byteCount }) / 1_000_000
        try connection.run(statements, until: Deadline(seconds: timeout + megabytes))
    }
}
