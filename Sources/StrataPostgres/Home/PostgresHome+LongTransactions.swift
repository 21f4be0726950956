import Foundation

extension PostgresHome {
    /// Begins a transaction that may take long, on a new connection, because other calls go on in the meantime.
    ///
    /// The transaction has no limits of time on the server. If the connection is released before the end of the
    /// transaction, for example after an error, the server rolls the transaction back.
    ///
    /// - Parameters:
    ///   - begin: the statement that begins the transaction.
    ///   - statements: the first statements of the transaction, which are sent together with `begin`.
    ///   - seconds: the time for these statements. The connection has the timeout of the home.
    /// - Returns: the connection, and a result for each of the statements.
    /// - Throws: `PostgresFailure`.
    func beginLongTransaction(
        _ begin: PostgresStatement,
        running statements: [PostgresStatement],
        within seconds: TimeInterval
    ) throws -> (connection: PostgresConnection, results: [PostgresRows]) {
        let connection = try PostgresConnection.open(
            settings,
            preparesStatements: preparesStatements,
            until: Deadline(seconds: timeout)
        )
        let opening = [begin] + HomeSQL.noLimits
        let results = try connection.run(opening + statements, until: Deadline(seconds: seconds))
        return (connection, Array(results.dropFirst(opening.count)))
    }
}
