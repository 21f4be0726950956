import PostgresCluster

/// The way of a home's connections to the server.
enum Route: String, CaseIterable, Sendable {
    case direct, sessionPooler, transactionPooler

    /// The port to which homes connect.
    ///
    /// - Parameter cluster: the shared server.
    func port(of cluster: PostgresCluster) throws -> Int {
        switch self {
        case .direct: cluster.port
        case .sessionPooler: try PostgresPooler.shared(.session).port
        case .transactionPooler: try PostgresPooler.shared(.transaction).port
        }
    }
}
