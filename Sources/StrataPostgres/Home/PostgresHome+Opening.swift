public import Foundation
public import Strata

extension PostgresHome {
    public func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
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
            let description = Opened(
                busyTimeout: busyTimeout,
                synchronous: synchronous,
                description: state.description,
                tables: tables
            )
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

    /// What ``open(_:busyTimeout:synchronous:)`` has learned.
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
        let statements = try found.store ? [] : creation(of: state, nextID: 1, createsSchema: !found.schema)
        try connection.run(statements + [HomeSQL.commit], until: deadline)
    }

    /// The statements that create the tables of a store, with no rows of models.
    private func creation(of state: HomeState, nextID: Int64, createsSchema: Bool) throws -> [PostgresStatement] {
        let description = state.description
        let tables = try description.tables.map {
            PostgresStatement(sql: try TableSQL($0, store: sql.store).create, isPrepared: false)
        }
        let home = sql.insertHome(state, try Self.lists(of: description))
        return (createsSchema ? [sql.createSchema()] : []) + sql.createTables(nextID: nextID) + tables + [home]
    }

    public func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try describingFailures {
            let (connection, _) = try beginLongTransaction(
                HomeSQL.begin,
                running: [sql.lockCreation()],
                within: timeout
            )
            let found = try exists(connection, until: Deadline(seconds: timeout))
            if found.store { return false }
            let statements = try creation(of: state, nextID: nextID, createsSchema: !found.schema)
            try connection.run(statements, until: Deadline(seconds: timeout))
            try insertRows(of: state.description, on: connection, fill)
            try endCreation(connection)
            return true
        }
    }

    /// Inserts rows into tables.
    func insertRows(
        of description: HomeDescription,
        on connection: PostgresConnection,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws {
        var tables: [UTF8Text: TableSQL] = [:]
        for table in description.tables { tables[UTF8Text(table.name)] = try TableSQL(table, store: sql.store) }
        try fill { name, rows in
            guard let table = tables[UTF8Text(name)] else {
                throw StrataError(.invalidArgument, "The description of the store does not have the table \(name).")
            }
            var changes = TableChanges(table)
            for row in rows { try changes.append(.insert(row)) }
            let statements = changes.statements
            let megabytes = Double(statements.reduce(0) { $0 + $1.parameters.byteCount }) / 1_000_000
            try connection.run(statements, until: Deadline(seconds: timeout + megabytes))
        }
    }

    /// Commits a transaction that has created or changed tables.
    func endCreation(_ connection: PostgresConnection) throws {
        let command: String
        do {
            command = try connection.run([HomeSQL.commit], until: Deadline(seconds: timeout)).last?.command ?? ""
        } catch let failure as PostgresFailure where failure.sentStatements == 1 && failure.refusedStatement == nil {
            throw uncertain(failure)
        }
        guard command.hasSameBytes(as: "COMMIT") else {
            throw PostgresFailure(.connection, "the server has rolled the transaction back")
        }
    }

    private func readState(_ connection: PostgresConnection, until deadline: Deadline) throws -> HomeState {
        let results = try connection.run([sql.selectHome(), sql.estimateRows()], until: deadline)
        let estimate = try results[1].integer(row: 0, column: 0)
        // The tables of a new store are not analysed yet.
        return try state(results[0], rowCount: estimate > 0 ? estimate : nil)
    }

    /// The state in the row of the home.
    func state(_ rows: PostgresRows, rowCount: Int64? = nil) throws -> HomeState {
        guard let fingerprint = UInt16(exactly: try rows.integer(row: 0, column: 2)) else {
            throw PostgresFailure(.format, "the fingerprint is out of range")
        }
        let description = HomeDescription(
            format: try rows.integer(row: 0, column: 3),
            version: try rows.integer(row: 0, column: 4),
            schema: try rows.text(row: 0, column: 5),
            steps: try Self.decoded([String].self, try rows.text(row: 0, column: 6)),
            tables: try Self.decoded([HomeTable].self, try rows.text(row: 0, column: 7)),
            generation: try rows.integer(row: 0, column: 8),
            earlier: try Self.decoded([String].self, try rows.text(row: 0, column: 9))
        )
        return HomeState(
            fingerprint: fingerprint,
            description: description,
            position: try position(rows),
            rowCount: rowCount
        )
    }

    /// The position in the first two columns of the first row.
    func position(_ rows: PostgresRows) throws -> HomePosition {
        HomePosition(number: try rows.integer(row: 0, column: 0), id: try rows.uuid(row: 0, column: 1))
    }

    static func lists(of description: HomeDescription) throws -> DescriptionLists {
        DescriptionLists(
            steps: try json(description.steps),
            tables: try json(description.tables),
            earlier: try json(description.earlier)
        )
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try StoredJSON.sortedEncoder.encode(value), as: UTF8.self)
    }

    private static func decoded<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        do {
            return try StoredJSON.decoder.decode(type, from: Data(text.utf8))
        } catch {
            throw PostgresFailure(.format, "the description in strata_home is damaged: \(error)")
        }
    }
}
