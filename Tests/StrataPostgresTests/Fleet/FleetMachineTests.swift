import Foundation
import PostgresCluster
import StoreModels
import Testing

/// A machine of a fleet has a full disk or a wrong clock.
@Suite("A fleet with a bad machine", .timeLimit(.minutes(5))) struct FleetMachineTests {
    @Test(
        "A full disk under one copy refuses its commits, delays no other node, and loses nothing",
        .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system")
    )
    func fullDisk() async throws {
        let seed = Dice.seed
        let cluster = try PostgresCluster.shared()
        let disk = try SmallDisk(size: "32m")
        defer { withExtendedLifetime(disk) {} }
        var nodes = [FleetProcesses.Node](repeating: FleetProcesses.Node(connection: cluster.address), count: 3)
        nodes[0].folder = disk.folder.file("copy")
        let fleet = try FleetProcesses(nodes, seed: seed)
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(5, of: lives)
        try disk.fill(leaving: 0)
        // SQLite refuses a commit before it is published, or after it: then its outcome is not known.
        try await waitUntil("a commit that the disk refuses, STRATA_SEED=\(seed)") {
            let ledger = fleet.ledger
            return ledger.fullDiskCount > 0 || !ledger.unknown.isEmpty || !ledger.faults.isEmpty
        }
        try await fleet.waitForCommits(10, of: Array(lives.dropFirst()))
        try disk.free()
        try await fleet.waitForCommits(5, of: lives)
        try await fleet.stop(lives)
        try await fleet.check(cluster.address)
    }

    @Test(
        "With a clock that is an hour ahead or behind, each operation, retry and run of a schedule has its effect once",
        arguments: [3600.0, -3600]
    )
    func clock(offset: Double) async throws {
        let seed = Dice.seed
        let cluster = try PostgresCluster.shared()
        var nodes = [FleetProcesses.Node](repeating: FleetProcesses.Node(connection: cluster.address), count: 3)
        nodes[0].clockOffset = offset
        let fleet = try FleetProcesses(nodes, seed: seed) { $0.hasSchedule = true }
        try await fleet.found()
        let lives = try fleet.indices.map { try fleet.start($0) }
        try await fleet.waitForCommits(60, of: lives)
        try await fleet.stop(lives)
        let audit = try await fleet.check(cluster.address)
        #expect(audit.tickCount > 0, "the schedule has not run, STRATA_SEED=\(seed)")
    }
}
