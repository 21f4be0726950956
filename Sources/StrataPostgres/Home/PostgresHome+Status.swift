package import Foundation
package import Strata

/// The state of a home, for operators.
package struct PostgresHomeStatus: Sendable {
    /// A transaction of the feed.
    package struct Transaction: Sendable {
        package let number: Int64
        /// When it was published, by the clock of its node.
        package let time: Date
    }

    /// The hosts, the database and the store.
    package let name: String
    package let position: HomePosition
    package let fingerprint: UInt16
    package let format: Int64
    package let version: Int64
    /// The oldest transaction that the home keeps; nil without transactions.
    package let oldest: Transaction?
    /// The newest transaction; nil without transactions.
    package let newest: Transaction?
    package let transactionCount: Int64
    /// The bytes of the changes of all kept transactions.
    package let transactionSize: Int64
    /// The tables by their names in the store, with the numbers of their rows.
    package let tables: [(name: String, rowCount: Int64)]
}

extension PostgresHome {
    /// Checks that the home has a store. Creates nothing.
    ///
    /// - Throws: `notAStore` if it has none; `unreachable`.
    package func requireStore() throws {
        let hasStore = try describingFailures {
            try reading.use(within: timeout) { connection, deadline in
                try connection.run([sql.exists()], until: deadline)[0].isTrue(row: 0, column: 0)
            }
        }
        guard hasStore else { throw noStore }
    }

    /// Reads the state of the home at one moment. Creates nothing.
    ///
    /// The call delays no commit.
    ///
    /// - Parameter limit: the seconds in which the rows of one table are counted.
    /// - Throws: `notAStore` if the home has no store; `unreachable`, `notPermitted`.
    /// - Complexity: O(rows of the store).
    package func status(limit: TimeInterval = 600) throws -> PostgresHomeStatus {
        try requireStore()
        return try describingFailures {
            let (connection, results) = try beginLongTransaction(
                HomeSQL.beginSnapshot,
                running: [
                    sql.selectHome(), sql.selectEnd(isNewest: false), sql.selectEnd(isNewest: true), sql.measureFeed(),
                ],
                within: timeout + limit
            )
            let state = try self.state(results[0])
            let tables = try state.description.tables.map { table in
                let count = PostgresStatement(sql: try TableSQL(table, store: sql.store).count, isPrepared: false)
                let rows = try connection.run([count], until: Deadline(seconds: limit))[0]
                return (name: table.name, rowCount: try rows.integer(row: 0, column: 0))
            }
            try connection.run([HomeSQL.commit], until: Deadline(seconds: timeout))
            return PostgresHomeStatus(
                name: name,
                position: state.position,
                fingerprint: state.fingerprint,
                format: state.description.format,
                version: state.description.version,
                oldest: try Self.transaction(results[1]),
                newest: try Self.transaction(results[2]),
                transactionCount: try results[3].integer(row: 0, column: 0),
                transactionSize: try results[3].integer(row: 0, column: 1),
                tables: tables
            )
        }
    }

    private static func transaction(_ rows: PostgresRows) throws -> PostgresHomeStatus.Transaction? {
        if rows.count == 0 { return nil }
        return PostgresHomeStatus.Transaction(
            number: try rows.integer(row: 0, column: 0),
            time: try rows.time(row: 0, column: 1)
        )
    }

    private var noStore: StrataError {
        StrataError(
            .notAStore,
            "\(name) does not have a store. Check the hosts, the database and the name of the store. A program that opens the "
                + "store, or 'strata home move', creates it."
        )
    }
}
