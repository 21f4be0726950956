import Foundation
import PostgresCluster
import StoreModels
import Testing

/// The server of a fleet ends, or a standby takes over, while three processes commit and run operations.
@Suite("A fleet whose server ends", .timeLimit(.minutes(5)), .serialized) struct FleetServerTests {
    @Test("A server that is stopped, interrupted and killed loses nothing, and the nodes continue")
    func restarts() async throws {
        let seed = Dice.seed
        let cluster = try PostgresCluster()
        defer { withExtendedLifetime(cluster) {} }
        let fleet = try FleetProcesses(cluster.address, seed: seed)
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        for ending in PostgresCluster.Ending.allCases {
            try await fleet.waitForCommits(5, of: lives)
            try cluster.stop(ending)
            try cluster.start()
        }
        try await fleet.waitForCommits(5, of: lives)
        try await fleet.stop(lives)
        #expect(fleet.ledger.behind == [])
        try await fleet.check(cluster.address)
    }

    /// A standby whose replay is paused or delayed applies everything that it has received before it takes over. It lacks
    /// commits only if it has not received them. So the connection between the servers is silent here.
    @Test(
        "After a failover that loses commits, each node makes its copy again, keeps the old one, and all are equal"
    )
    func asynchronousFailover() async throws {
        let seed = Dice.seed
        let primary = try PostgresCluster()
        let proxy = try CuttingProxy(to: primary.port)
        defer { proxy.end() }
        let standby = try PostgresCluster(standbyOf: proxy.port)
        defer { withExtendedLifetime(standby) {} }
        let fleet = try FleetProcesses(PostgresCluster.address(ports: [primary.port, standby.port]), seed: seed)
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(10, of: lives)
        proxy.set(.silent)
        // Each node makes commits that the standby does not get.
        try await fleet.waitForCommits(10, of: lives)
        try primary.stop()
        try standby.promote()
        for life in lives { await life.end() }
        #expect(fleet.ledger.behind == Set(lives.map(\.name)), "STRATA_SEED=\(seed)")

        let next = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(10, of: next)
        try await fleet.stop(next)
        for node in fleet.indices {
            #expect(try fleet.oldCopies(node).count == 1, "node \(node), STRATA_SEED=\(seed)")
        }
        let audit = try await fleet.settle(standby.address)
        #expect(!fleet.ledger.lost(in: audit).isEmpty, "no commit was lost that a node had seen, STRATA_SEED=\(seed)")
        // Only commits of the time before the failover may be missing.
        let early = Set(lives.map(\.name))
        let faults = fleet.ledger.faults(in: audit, isLossAllowed: { early.contains($0.life) })
        #expect(faults == [], "STRATA_SEED=\(seed)")
    }

    @Test(
        "After a failover with synchronous replication, nothing is lost, and no node makes its copy again"
    )
    func synchronousFailover() async throws {
        let seed = Dice.seed
        let primary = try PostgresCluster()
        let standby = try PostgresCluster(standbyOf: primary.port)
        defer { withExtendedLifetime(standby) {} }
        try primary.configure("synchronous_standby_names = '*'")
        let server = try HomeFixture(on: primary)
        try await waitUntil("synchronous replication") {
            try server.texts("SELECT sync_state FROM pg_stat_replication") == ["sync"]
        }
        let fleet = try FleetProcesses(PostgresCluster.address(ports: [primary.port, standby.port]), seed: seed)
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(10, of: lives)
        try primary.stop()
        try standby.promote()
        try await fleet.waitForCommits(10, of: lives)
        try await fleet.stop(lives)
        #expect(fleet.ledger.behind == [], "STRATA_SEED=\(seed)")
        for node in fleet.indices { #expect(try fleet.oldCopies(node) == [], "STRATA_SEED=\(seed)") }
        try await fleet.check(standby.address)
    }
}
