import FleetFixture
import Foundation
import PostgresCluster
import Strata
import StrataPostgres
import Testing

/// Nodes over a new store in PostgreSQL. The connection of one node can be cut.
struct PostgresNodes {
    static let proxiedNode = "proxied"

    let fleet: Fleet
    /// The connection string of the server, and the name of the store.
    let address: (connection: String, store: String)
    let proxy: CuttingProxy
    /// The steps of the node whose connection goes through the proxy.
    let publishing: PublishingSteps

    /// - Parameters:
    ///   - models: the models of all nodes.
    ///   - timeout: the seconds after which a call through the proxy gives up.
    ///   - route: the way of all connections to the server.
    init(models: [any Model.Type] = Fleet.models, timeout: TimeInterval = 10, route: Route = .direct) throws {
        let cluster = try PostgresCluster.shared()
        let port = try route.port(of: cluster)
        let proxy = try CuttingProxy(to: port)
        let publishing = PublishingSteps()
        let store = "fleet \(UUID().uuidString)"
        fleet = try Fleet(models: models) { node in
            guard node == Self.proxiedNode else {
                return try PostgresHome(cluster.address(port: port), store: store)
            }
            let home = try PostgresHome(cluster.address(port: proxy.port), store: store, timeout: timeout)
            return SteppedHome(home, publishing)
        }
        address = (cluster.address, store)
        self.proxy = proxy
        self.publishing = publishing
    }

    /// Opens a node. Its commits wait for other nodes as long as a slow machine needs.
    func open(
        _ name: String,
        models: [any Model.Type]? = nil,
        migration: Migration = Migration()
    ) async throws -> ContextStack {
        let configuration = StoreConfiguration(busyTimeout: 60)
        return try await fleet.open(name, models: models, migration: migration, configuration: configuration)
    }

    /// Expects that all copies have the rows of the home, and ends everything.
    func end(location: SourceLocation = #_sourceLocation) async throws {
        try await fleet.compare(location: location)
        try await fleet.close()
        proxy.end()
    }
}
