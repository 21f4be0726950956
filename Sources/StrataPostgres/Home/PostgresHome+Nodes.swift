public import Foundation
public import Strata

extension PostgresHome {
    /// The seconds after which a call about nodes gives up. The end of a stack waits for its last report.
    private static let nodesTimeout: TimeInterval = 2
    /// The seconds that a report waits for a lock of another session.
    private static let nodesLockTimeout: TimeInterval = 0.1

    public func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try describingFailures {
            do {
                return try reporting.use(within: min(timeout, Self.nodesTimeout)) { connection, deadline in
                    let results = try connection.run(
                        [
                            HomeSQL.begin, HomeSQL.set("lock_timeout", seconds: Self.nodesLockTimeout),
                            sql.report(position, of: node, named: name), sql.deleteSilentNodes(),
                            sql.selectPosition(), HomeSQL.doNotWaitForFlush, HomeSQL.commit,
                        ],
                        until: deadline
                    )
                    return HomeMoment(
                        time: try results[2].time(row: 0, column: 0),
                        position: try self.position(results[4])
                    )
                }
            } catch let failure as PostgresFailure where failure.kind == .server(sqlState: "55P03") {
                throw StrataError(
                    .busy,
                    "Another session has locked the table strata_nodes of \(self.name). The report was left out.",
                    underlying: failure
                )
            }
        }
    }

    public func nodes() throws -> [HomeNodeStatus] {
        try describingFailures {
            try reporting.use(within: min(timeout, Self.nodesTimeout)) { connection, deadline in
                let rows = try connection.run([sql.selectNodes()], until: deadline)[0]
                return try (0..<rows.count).map { row in
                    HomeNodeStatus(
                        name: try rows.text(row: row, column: 0),
                        id: try rows.uuid(row: row, column: 1),
                        position: HomePosition(
                            number: try rows.integer(row: row, column: 2),
                            id: try rows.uuid(row: row, column: 3)
                        ),
                        time: try rows.time(row: row, column: 4),
                        silence: try rows.real(row: row, column: 5),
                        newest: HomePosition(
                            number: try rows.integer(row: row, column: 6),
                            id: try rows.uuid(row: row, column: 7)
                        )
                    )
                }
            }
        }
    }
}
