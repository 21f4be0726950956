public import Strata

extension PostgresHome {
    public func transactions(after position: HomePosition, limit: Int) throws -> HomePortion {
        try describingFailures {
            try reading.use(within: timeout) { connection, deadline in
                // The position is read first, so it is not newer than the transactions.
                let results = try connection.run(
                    [
                        sql.selectPosition(),
                        sql.selectTransactions(after: position, limit: limit, maxBytes: Int64(Self.maxPortionBytes)),
                    ],
                    until: deadline
                )
                let newest = try self.position(results[0])
                let transactions = try self.transactions(results[1], after: position, newest: newest)
                let last = transactions.last?.position ?? position
                return HomePortion(transactions, isComplete: last.number >= newest.number)
            }
        }
    }

    /// A node that is far behind gets this many bytes at once, and one transaction more, within the time of a call. A
    /// new copy gets as many, and one row more.
    private static let maxPortionBytes = 8 << 20

    public func newest() throws -> HomePosition {
        try describingFailures {
            try reading.use(within: timeout) { connection, deadline in
                try position(try connection.run([sql.selectPosition()], until: deadline)[0])
            }
        }
    }

    public func reserveIDs(_ count: Int64) throws -> Int64 {
        guard count > 0 else { throw StrataError(.invalidArgument, "The number of ids to reserve must be positive.") }
        return try describingFailures {
            // If the answer is lost and the call repeated, ids are left out. This does no harm.
            try reading.use(within: timeout) { connection, deadline in
                try connection.run([sql.reserveIDs(count)], until: deadline)[0].integer(row: 0, column: 0)
            }
        }
    }

    // MARK: The order of transactions

    /// The transactions in rows of the feed, if they continue from a position.
    ///
    /// - Parameter newest: the newest position that the home had, at the latest when the rows were read.
    /// - Throws: `homeBehind` or `homeExpired`.
    func transactions(
        _ rows: PostgresRows,
        after position: HomePosition,
        newest: HomePosition
    ) throws -> [HomeTransaction] {
        var transactions: [HomeTransaction] = []
        var last = position
        for row in 0..<rows.count {
            let transaction = try self.transaction(rows, row: row)
            let previous = transaction.previous
            if previous != last {
                // The transactions in between are pruned, or the position belongs to an order that the home has lost.
                throw previous.number > last.number ? expired : behind(position)
            }
            transactions.append(transaction)
            last = transaction.position
        }
        if transactions.isEmpty, position != newest {
            throw position.number < newest.number ? expired : behind(position)
        }
        return transactions
    }

    private func transaction(_ rows: PostgresRows, row: Int) throws -> HomeTransaction {
        let generation = try rows.integer(row: row, column: 7)
        return HomeTransaction(
            previous: HomePosition(
                number: try rows.integer(row: row, column: 2),
                id: try rows.uuid(row: row, column: 3)
            ),
            position: HomePosition(
                number: try rows.integer(row: row, column: 0),
                id: try rows.uuid(row: row, column: 1)
            ),
            node: try rows.uuid(row: row, column: 4),
            time: try rows.time(row: row, column: 5),
            changes: HomeChanges(bytes: try rows.data(row: row, column: 6)),
            generation: generation < 0 ? nil : generation
        )
    }

    private var expired: StrataError {
        StrataError(
            .homeExpired,
            "The home \(name) does not keep the transactions any more that the working copy lacks. Copy all rows again."
        )
    }

    private func behind(_ position: HomePosition) -> StrataError {
        StrataError(
            .homeBehind,
            "The home \(name) does not know the transaction \(position.number) (\(position.id)): an earlier state was "
                + "restored, or a standby took over that did not have it. Copy all rows again."
        )
    }

    // MARK: Copying

    public func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        let opened = try requireOpened()
        let tables = opened.tables.sorted { $0.key < $1.key }.map(\.value)
        return try describingFailures {
            // The locks come before the first SELECT, which determines the moment. A table that a migration creates anew
            // after this moment, and before its lock, would be empty.
            let locks = tables.map { PostgresStatement(sql: $0.lockForCopy, isPrepared: false) }
            let connection: PostgresConnection
            let results: [PostgresRows]
            do {
                (connection, results) = try beginLongTransaction(
                    HomeSQL.beginSnapshot,
                    running: HomeSQL.readsTables + locks + [sql.selectHome()],
                    within: timeout
                )
            } catch let failure as PostgresFailure where failure.kind == .server(sqlState: "42P01") {
                throw migrated(failure)
            }
            let state = try self.state(results[results.count - 1])
            guard state.description == opened.description else { throw migrated(nil) }
            for table in tables { try copy(table, connection, receive) }
            try connection.run([HomeSQL.commit], until: Deadline(seconds: timeout))
            return state.position
        }
    }

    private func migrated(_ failure: PostgresFailure?) -> StrataError {
        StrataError(
            .schemaMismatch,
            "The store of \(name) was migrated since this home was opened. Open it again.",
            underlying: failure
        )
    }

    /// Reads the rows of a table by COPY, in portions of at most 1,000 rows and about 8 MB.
    private func copy(
        _ sql: TableSQL,
        _ connection: PostgresConnection,
        _ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void
    ) throws {
        let table = sql.table
        var reader = BinaryCopyReader(table.columns.map { PostgresColumnType($0) })
        var rows: [[StoredValue]] = []
        var byteCount = 0
        try connection.copyOut(sql.copy, timeout: timeout) { bytes in
            try reader.read(bytes) { rows.append($0) }
            byteCount += bytes.count
            guard rows.count >= Self.maxPortionRows || byteCount >= Self.maxPortionBytes else { return }
            try receive(table.name, rows)
            (rows, byteCount) = ([], 0)
        }
        guard reader.isComplete else {
            throw PostgresFailure(.format, "the server's answer to COPY ends before all rows of \(table.name)")
        }
        if !rows.isEmpty { try receive(table.name, rows) }
    }

    private static let maxPortionRows = 1000
}
