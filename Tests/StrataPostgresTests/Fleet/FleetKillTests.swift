import Foundation
import PostgresCluster
import StoreModels
import Testing

/// Three processes share a store and are killed, at steps of their commits and at random moments. They start again on
/// their copies, or without one. Then no acknowledged commit is lost, each operation has had its effect once, and all
/// copies equal the home. ``FleetStepTests`` kills at the rarer steps.
///
/// A kill takes about a third of a second: a process starts, opens a stack and a pipeline, and commits some times. So
/// the default is 40 kills, and 80 with `CI`. `STRATA_FLEET_KILLS` sets the number, and `STRATA_SEED` repeats the choices:
///
///     STRATA_FLEET_KILLS=10000 Scripts/test --filter FleetKillTests.kills
@Suite("A fleet whose nodes are killed") struct FleetKillTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let kills =
        environment["STRATA_FLEET_KILLS"].flatMap { Int($0) } ?? (environment["CI"] == nil ? 40 : 80)
    /// The number of kills of one store. A store that grows for hours would make each start slow.
    private static let killsPerStore = 100
    @Test("Kills at any step and moment lose nothing, and nothing happens twice", .timeLimit(.minutes(600)))
    func kills() async throws {
        var seed = Dice.seed
        var left = Self.kills
        while left > 0 {
            let count = min(left, Self.killsPerStore)
            let fleet = try FleetProcesses(try PostgresCluster.shared().address, seed: seed)
            guard try await Self.kill(count, in: fleet, seed, try PostgresCluster.shared().address) else { return }
            left -= count
            seed &+= 1
        }
    }

    @Test(
        "The same for processes in separate network namespaces, which have only the server in common",
        .enabled(if: FleetProcesses.allowsNamespaces, "needs the right to create network namespaces"),
        .timeLimit(.minutes(5))
    )
    func namespaces() async throws {
        let seed = Dice.seed
        let cluster = try PostgresCluster.shared()
        let fleet = try FleetProcesses(
            cluster.socketAddress,
            seed: seed,
            launcher: FleetProcesses.namespaceLauncher
        )
        _ = try await Self.kill(9, in: fleet, seed, cluster.address)
    }

    /// Kills processes of a new store, and checks the result. Returns whether it is right.
    private static func kill(
        _ count: Int,
        in fleet: FleetProcesses,
        _ seed: UInt64,
        _ connection: String
    ) async throws -> Bool {
        try await fleet.found()
        let missed = try await withThrowingTaskGroup(of: Int.self) { group in
            for node in fleet.indices {
                // The first nodes take the rest of the division.
                let own = (count + fleet.nodes.count - 1 - node) / fleet.nodes.count
                group.addTask { try await killRepeatedly(node, times: own, in: fleet, seed) }
            }
            return try await group.reduce(0, +)
        }
        // A kind of step that processes do not reach would not be tested.
        #expect(missed <= max(1, count / 10), "STRATA_SEED=\(seed)")
        #expect(fleet.ledger.stored.count > count, "too few commits to say anything, STRATA_SEED=\(seed)")
        let audit = try await fleet.check(connection)
        return fleet.ledger.faults(in: audit).isEmpty
    }

    /// Starts and kills processes of a node. Returns how many of them have not reached their step.
    private static func killRepeatedly(
        _ node: Int,
        times: Int,
        in fleet: FleetProcesses,
        _ seed: UInt64
    ) async throws -> Int {
        var dice = Dice(seed: seed &* 31 &+ UInt64(node))
        var missed = 0
        for _ in 0..<times where fleet.ledger.faults.isEmpty {
            if dice.chance(5) { fleet.removeCopy(node) }
            if dice.chance(50) {
                let kind = dice.pick(FleetProcesses.frequentKinds)!
                let step = FleetNodeSettings.Step(kind: kind, number: dice.number(1..<40))
                missed += try await fleet.killWorker(node, at: step) ? 0 : 1
            } else {
                try await killAtMoment(node, in: fleet, &dice)
            }
        }
        return missed
    }

    private static func killAtMoment(_ node: Int, in fleet: FleetProcesses, _ dice: inout Dice) async throws {
        let count = dice.number(0..<20)
        // Without commits, the moment is in the start of the process.
        let pause = count == 0 ? dice.number(0..<400_000) : dice.number(0..<20_000)
        let life = try fleet.start(node)
        if count > 0 { try await fleet.waitForCommits(count, of: [life]) }
        try await Task.sleep(for: .microseconds(pause))
        await fleet.kill(life)
    }
}
