import PostgresCluster
import StoreModels
import Testing

/// Three processes reach the server through PgBouncer, commit and run operations, while parts of the way fail.
@Suite("A fleet that connects through a pooler", .timeLimit(.minutes(5)), .serialized) struct FleetPoolerTests {
    @Test(
        "A killed pooler, a crash of the server and a killed node lose nothing, and the nodes continue",
        arguments: PostgresPooler.Mode.allCases
    )
    func failures(_ mode: PostgresPooler.Mode) async throws {
        let seed = Dice.seed
        let cluster = try PostgresCluster()
        defer { withExtendedLifetime(cluster) {} }
        let pooler = try PostgresPooler(mode, serverPort: cluster.port)
        defer { withExtendedLifetime(pooler) {} }
        let fleet = try FleetProcesses(pooler.address, seed: seed)
        try await fleet.found()
        var lives = try fleet.indices.map { try fleet.start($0) }
        for _ in 0..<3 {
            try await fleet.waitForCommits(5, of: lives)
            try pooler.kill()
            try pooler.start()
        }
        try await fleet.waitForCommits(5, of: lives)
        try cluster.stop()
        try cluster.start()
        try await fleet.waitForCommits(5, of: lives)
        await fleet.kill(lives[1])
        lives[1] = try fleet.start(1)
        try await fleet.waitForCommits(5, of: lives)
        try await fleet.stop(lives)
        #expect(fleet.ledger.behind == [], "STRATA_SEED=\(seed)")
        try await fleet.check(cluster.address)
    }
}
