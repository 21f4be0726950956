import Foundation
import PostgresCluster
import StoreModels
import Testing

/// Processes are killed at the steps of rare work: while they create a home, make a copy or make it again, reserve ids,
/// and publish each kind of transaction. Each process is followed by another one on the same node.
///
/// A process has some kinds of steps many times, for example the requests to the server. By default, the test kills at
/// the first two steps of such a kind and at some others, at growing distances. `STRATA_STEPS=all` tries all, and
/// `STRATA_SEED` repeats the choices.
@Suite("A fleet whose nodes are killed at any step", .timeLimit(.minutes(60))) struct FleetStepTests {
    private typealias Step = FleetNodeSettings.Step

    private static let isComplete = ProcessInfo.processInfo.environment["STRATA_STEPS"] == "all"
    /// The number of processes that are killed at the same time.
    private static let laneCount = 3

    @Test("A kill at any step of the creation of a home leaves one that all nodes can use")
    func creation() async throws {
        let seed = Dice.seed
        let connection = try PostgresCluster.shared().address
        try await Self.killAtSteps(
            once: Step.kinds(around: ["open", "lock", "reserveIDs"]) + ["sync", "after sync", "link", "after link"],
            repeatedly: Step.kinds(around: ["publish"]) + ["write", "send", "after send"],
            seed
        ) { _, step in
            try await Self.found(killAt: step, connection, seed)
        }
    }

    @Test("A kill at any step of a copy leaves no copy, or one that equals the home")
    func copies() async throws {
        let seed = Dice.seed
        let connection = try PostgresCluster.shared().address
        let fleet = try await Self.makeFleet(connection, seed)
        try await Self.killAtSteps(
            once: Step.kinds(around: ["open", "copy"]) + ["sync", "after sync", "link", "after link"],
            repeatedly: [
                "CREATE", "INSERT", "CREATE UNIQUE INDEX", "COMMIT", "portion", "write", "send", "after send",
            ],
            seed
        ) { lane, step in
            fleet.removeCopy(lane + 1)
            return try await Self.makeCopy(lane + 1, in: fleet, killAt: step, connection, seed)
        }
        try await Self.work(fleet, connection, "after all steps, STRATA_SEED=\(seed)")
    }

    @Test("A kill at any step while a damaged copy is made again keeps the old one, and the next one equals the home")
    func rebuilding() async throws {
        let seed = Dice.seed
        let connection = try PostgresCluster.shared().address
        let fleet = try await Self.makeFleet(connection, seed)
        for lane in 0..<Self.laneCount { try await fleet.run(lane + 1, .catchUp) }
        try await Self.killAtSteps(
            once: Step.kinds(around: ["copy"]) + ["rename", "after rename", "link", "after link"],
            repeatedly: ["portion", "write", "send"],
            seed
        ) { lane, step in
            try fleet.markDamaged(lane + 1)
            let isKilled = try await Self.makeCopy(lane + 1, in: fleet, killAt: step, connection, seed)
            #expect(try fleet.oldCopies(lane + 1).count == 1, "killed at \(step), STRATA_SEED=\(seed)")
            try fleet.removeOldCopies(lane + 1)
            return isKilled
        }
        try await Self.work(fleet, connection, "after all steps, STRATA_SEED=\(seed)")
    }

    @Test("A node without others that is killed around its commits, batches and passes loses nothing")
    func loneNode() async throws { try await Self.publish(["optimistic", "batch", "pass"], besides: 0) }

    @Test("A node that is killed around commits with the lock, batches, groups of commits and passes loses nothing")
    func nodeAmongOthers() async throws { try await Self.publish(["locked", "batch", "group", "pass"], besides: 2) }

    // MARK: Steps

    /// Kills processes at steps of these kinds, three at a time.
    ///
    /// - Parameters:
    ///   - single: the kinds whose first step is tried.
    ///   - many: the kinds whose other steps are tried too, until a process ends before its step.
    ///   - kill: kills a process of a lane at a step, and checks the result. Returns whether the process has reached the
    ///     step.
    private static func killAtSteps(
        once single: [String],
        repeatedly many: [String],
        _ seed: UInt64,
        _ kill: @escaping @Sendable (_ lane: Int, Step) async throws -> Bool
    ) async throws {
        let kinds = single + many
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<laneCount {
                group.addTask {
                    for index in stride(from: lane, to: kinds.count, by: laneCount) {
                        var dice = Dice(seed: seed &* 31 &+ UInt64(index))
                        var number = 1
                        while try await kill(lane, Step(kind: kinds[index], number: number)), index >= single.count {
                            number += isComplete || number == 1 ? 1 : dice.number(number..<3 * number)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Expects that a process has reached the first step of a kind. Otherwise the kind would not be tested.
    private static func expectReached(_ isKilled: Bool, _ step: Step, _ seed: UInt64) {
        #expect(isKilled || step.number > 1, "no process has reached the step \(step), STRATA_SEED=\(seed)")
    }

    // MARK: Work

    /// Kills a process that creates a store. Then two nodes found the store at the same time, and work.
    private static func found(killAt step: Step, _ connection: String, _ seed: UInt64) async throws -> Bool {
        let fleet = try FleetProcesses(count: 2, connection, seed: seed)
        let isKilled = try await fleet.run(0, .found, killAt: step)
        expectReached(isKilled, step, seed)
        try await work(fleet, connection, "killed at \(step), STRATA_SEED=\(seed)", mode: .foundAndWork)
        return isKilled
    }

    /// Kills a process that makes a copy, starts another one, and compares the copy with the home.
    private static func makeCopy(
        _ node: Int,
        in fleet: FleetProcesses,
        killAt step: Step,
        _ connection: String,
        _ seed: UInt64
    ) async throws -> Bool {
        let isKilled = try await fleet.run(node, .catchUp, killAt: step)
        expectReached(isKilled, step, seed)
        try await fleet.run(node, .catchUp)
        try fleet.compareCopies(of: node..<node + 1, connection)
        #expect(fleet.ledger.faults == [], "killed at \(step), STRATA_SEED=\(seed)")
        #expect(try fleet.unfinishedCopies(node) == [], "killed at \(step), STRATA_SEED=\(seed)")
        return isKilled && fleet.ledger.faults.isEmpty
    }

    /// Kills a node before and after it publishes each of these kinds of transactions. After each kill, another process
    /// of the node commits.
    ///
    /// - Parameter others: the number of other nodes, which work meanwhile.
    private static func publish(_ transactions: [String], besides others: Int) async throws {
        let seed = Dice.seed
        var dice = Dice(seed: seed)
        let connection = try PostgresCluster.shared().address
        let fleet = try FleetProcesses(count: 1 + others, connection, seed: seed)
        try await fleet.found()
        let lives = try fleet.indices.dropFirst().map { try fleet.start($0, limit: 600) }
        for kind in Step.kinds(around: transactions) where fleet.ledger.faults.isEmpty {
            let step = Step(kind: kind, number: dice.number(1..<4))
            let isKilled = try await fleet.killWorker(0, at: step)
            #expect(isKilled, "no process has reached the step \(step), STRATA_SEED=\(seed)")
            let life = try fleet.start(0)
            try await fleet.waitForCommits(2, of: [life])
            await fleet.kill(life)
        }
        try await fleet.stop(lives)
        try await fleet.check(connection)
    }

    /// A fleet with a node for each lane, and a store that another node has filled.
    private static func makeFleet(_ connection: String, _ seed: UInt64) async throws -> FleetProcesses {
        let fleet = try FleetProcesses(count: 1 + laneCount, connection, seed: seed)
        try await fleet.found()
        let life = try fleet.start(0)
        // Each table has rows, so that a copy has a portion of each.
        try await fleet.waitForCommits(40, of: [life])
        try await fleet.stop([life])
        return fleet
    }

    /// Lets all nodes commit, and expects that nothing is lost, and that nothing has happened twice.
    private static func work(
        _ fleet: FleetProcesses,
        _ connection: String,
        _ comment: Comment,
        mode: FleetNodeSettings.Mode = .work
    ) async throws {
        let lives = try fleet.indices.map { try fleet.start($0, mode) }
        try await fleet.waitForCommits(2, of: lives)
        try await fleet.stop(lives)
        let audit = try await fleet.settle(connection)
        #expect(fleet.ledger.faults(in: audit) == [], comment)
    }
}
