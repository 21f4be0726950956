import Foundation
import PostgresCluster
import StoreModels
import StrataPostgres
import Testing

/// Three processes work on one store for a long time, while processes are killed, connections are cut and the server
/// ends, one after the other. After each fault, all processes must continue to commit. The result is checked as in the
/// other tests of fleets. The home keeps few transactions, so that it also removes old ones.
///
/// By default, each kind of fault occurs once. `STRATA_FLEET_MINUTES` sets the duration. Then there are quiet times
/// between the faults, and the memory and the file descriptors of the processes are measured:
///
///     STRATA_FLEET_MINUTES=600 Scripts/test --filter FleetSoakTests
///
/// A long run begins again every half an hour, with a new store, new processes and the next seed, because the checks read
/// all commits of a store.
@Suite("Soak runs of a fleet", .timeLimit(.minutes(100_000))) struct FleetSoakTests {
    private static let seconds =
        (ProcessInfo.processInfo.environment["STRATA_FLEET_MINUTES"].flatMap { Double($0) } ?? 0) * 60
    private static let maxSecondsPerStore = 1800.0

    @Test("Kills, cut connections and restarts of the server lose nothing, and no process grows")
    func faults() async throws {
        var seed = Dice.seed
        var left = Self.seconds
        let cluster = try PostgresCluster()
        defer { withExtendedLifetime(cluster) {} }
        repeat {
            let seconds = min(left, Self.maxSecondsPerStore)
            var run = try FleetSoakRun(cluster, seed: seed, seconds: seconds)
            guard try await run.isRight() else { return }
            left -= seconds
            seed &+= 1
        } while left > 0
    }
}

/// The work on one store of ``FleetSoakTests``.
private struct FleetSoakRun {
    private enum Fault: CaseIterable {
        case kill, killAtStep, badConnection, silence, restart
    }

    /// The node whose processes are killed. The others live as long as the store.
    private static let victim = 2

    private let cluster: PostgresCluster
    private let proxies: [CuttingProxy]
    private let fleet: FleetProcesses
    private let gauge = SoakGauge()
    private let start = ContinuousClock.now
    private let seconds: Double
    private let seed: UInt64
    private var dice: Dice
    private var lives: [FleetLife] = []
    private var faultCount = 0

    init(_ cluster: PostgresCluster, seed: UInt64, seconds: Double) throws {
        self.cluster = cluster
        self.seconds = seconds
        self.seed = seed
        dice = Dice(seed: seed)
        proxies = try (0..<3).map { _ in try CuttingProxy(to: cluster.port) }
        let nodes = proxies.map { FleetProcesses.Node(connection: cluster.address(port: $0.port)) }
        fleet = try FleetProcesses(nodes, seed: seed) { settings in
            settings.timeout = 2
            settings.hasSchedule = true
            settings.maxPause = 200
            settings.keptTransactions = 20_000
        }
    }

    private var passed: Double { start.duration(to: .now) / .seconds(1) }

    /// Causes each kind of fault in random order, again and again until the time is over, and checks the result.
    mutating func isRight() async throws -> Bool {
        defer { for proxy in proxies { proxy.end() } }
        try await fleet.found()
        lives = try fleet.indices.map { try startNode($0) }
        repeat {
            for fault in Fault.allCases.shuffled(using: &dice) where fleet.ledger.faults.isEmpty {
                try await fleet.waitForCommits(2, of: lives)
                try await rest()
                faultCount += 1
                try await cause(fault)
            }
            report()
        } while passed < seconds && fleet.ledger.faults.isEmpty
        try await fleet.waitForCommits(2, of: lives)
        try await fleet.stop(lives)
        let audit = try await fleet.settle(cluster.address)
        let behind = fleet.ledger.behind.map { "\($0) has lost commits of the home" }
        let faults = fleet.ledger.faults(in: audit) + behind + gauge.judge()
        #expect(faults == [], "STRATA_SEED=\(seed)")
        let home = try PostgresHome(cluster.address, store: fleet.store)
        defer { home.close() }
        try home.removeStore()
        return faults.isEmpty
    }

    /// Prints a line, because a run without output counts as one that hangs.
    private func report() {
        print("fleet soak, seed \(seed), \(Int(passed)) s: \(fleet.ledger.stored.count) commits, \(faultCount) faults")
        // A file gets the output of a buffer only when this is full.
        fflush(nil)
    }

    private func startNode(_ node: Int) throws -> FleetLife {
        try fleet.start(node, limit: Int(seconds) + 600)
    }

    /// Lets all nodes work in a long run, and measures their processes.
    private mutating func rest() async throws {
        guard seconds > 0 else { return }
        let end = passed + Double(dice.number(1..<20))
        while passed < end {
            try await Task.sleep(for: .seconds(1))
            gauge.measure(lives.map(\.processID), after: passed, steps: fleet.ledger.stored.count)
        }
    }

    private mutating func cause(_ fault: Fault) async throws {
        let victim = Self.victim
        switch fault {
        case .kill:
            await fleet.kill(lives[victim])
            if dice.chance(20) { fleet.removeCopy(victim) }
            lives[victim] = try startNode(victim)
        case .killAtStep:
            await fleet.kill(lives[victim])
            let kind = dice.pick(FleetProcesses.frequentKinds)!
            _ = try await fleet.killWorker(victim, at: FleetNodeSettings.Step(kind: kind, number: dice.number(1..<40)))
            lives[victim] = try startNode(victim)
        case .badConnection:
            let (fault, milliseconds) = (FleetNetworkTests.fault(&dice), dice.number(20..<200))
            try await set(fault, milliseconds: milliseconds)
        case .silence:
            // Calls give up after two seconds.
            try await set(.silent, milliseconds: 3000)
        case .restart:
            try cluster.stop(dice.pick(PostgresCluster.Ending.allCases)!)
            try cluster.start()
        }
    }

    /// Sets a fault of the connection of one node for a time.
    private mutating func set(_ fault: CuttingProxy.Fault, milliseconds: Int) async throws {
        let proxy = dice.pick(proxies)!
        proxy.set(fault)
        try await Task.sleep(for: .milliseconds(milliseconds))
        proxy.set(.none)
    }
}
