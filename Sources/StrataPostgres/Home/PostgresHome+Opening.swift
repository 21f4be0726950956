public import Foundation
public import Strata

extension PostgresHome {
    public func open(_ proposal: HomeDescription, busyTimeout: TimeInterval) throws -> HomeState {
        try describingFailures {
            let state = try writing.use(within: timeout) { connection, deadline in
                let found = try exists(connection, until: deadline)
                if !found.store { try create(proposal, connection, until: deadline) }
                return try readState(connection, until: deadline)
            }
            var tables: [UTF8Text: TableSQL] = [:]
            for table in state.description.tables {
                tables[UTF8Text(table.name)] = try TableSQL(table, store: sql.store)
            }
            let description = Opened(busyTimeout: busyTimeout, tables: tables)
            opened.withLock { $0 = description }
            return state
        }
    }

    /// Removes the store with all of its rows, for tests. Nothing protects a store that a node has open.
    package func removeStore() throws {
        try describingFailures {
            _ = try writing.use(within: timeout) { connection, deadline in
                try connection.run([sql.dropSchema()], until: deadline)
            }
        }
    }

    /// What ``open(_:busyTimeout:)`` has learned.
    func requireOpened() throws -> Opened {
        guard let opened = self.opened.withLock({ $0 }) else {
            throw StrataError(.invalidState, "The home \(name) was not opened. Call open(_:busyTimeout:) first.")
        }
        return opened
    }

    private func exists(
        _ connection: PostgresConnection,
        until deadline: Deadline
    ) throws -> (store: Bool, schema: Bool) {
        let rows = try connection.run([sql.exists()], until: deadline)[0]
        return (try rows.isTrue(row: 0, column: 0), try rows.isTrue(row: 0, column: 1))
    }

    /// Creates the store, unless another node creates it at the same time.
    private func create(
        _ proposal: HomeDescription,
        _ connection: PostgresConnection,
        until deadline: Deadline
    ) throws {
        let state = HomeState(
            fingerprint: UInt16.random(in: 1 ... .max),
            description: proposal,
            position: .start
        )
        try connection.run([HomeSQL.begin, sql.lockCreation()], until: deadline)
        let found = try exists(connection, until: deadline)
        var statements: [PostgresStatement] = []
        if !found.store {
            if !found.schema { statements.append(sql.createSchema()) }
            statements += sql.createTables()
            statements += try proposal.tables.map {
                PostgresStatement(sql: try TableSQL($0, store: sql.store).create, isPrepared: false)
            }
            statements.append(
                sql.insertHome(
                    state,
                    steps: try Self.json(proposal.steps),
                    tables: try Self.json(proposal.tables)
                )
            )
        }
        try connection.run(statements + [HomeSQL.commit], until: deadline)
    }

    private func readState(_ connection: PostgresConnection, until deadline: Deadline) throws -> HomeState {
        let rows = try connection.run([sql.selectHome()], until: deadline)[0]
        guard let fingerprint = UInt16(exactly: try rows.integer(row: 0, column: 2)) else {
            throw PostgresFailure(.format, "the fingerprint is out of range")
        }
        let description = HomeDescription(
            format: try rows.integer(row: 0, column: 3),
            version: try rows.integer(row: 0, column: 4),
            schema: try rows.text(row: 0, column: 5),
            steps: try Self.decoded([String].self, try rows.text(row: 0, column: 6)),
            tables: try Self.decoded([HomeTable].self, try rows.text(row: 0, column: 7))
        )
        return HomeState(fingerprint: fingerprint, description: description, position: try position(rows))
    }

    /// The position in the first two columns of the first row.
    func position(_ rows: PostgresRows) throws -> HomePosition {
        HomePosition(number: try rows.integer(row: 0, column: 0), id: try rows.uuid(row: 0, column: 1))
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private static func decoded<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw PostgresFailure(.format, "the description in strata_home is damaged: \(error)")
        }
    }
}
