import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataPostgres
import Synchronization
import Testing

/// Processes that share a store in PostgreSQL. Each node has a working copy in a separate folder.
final class FleetProcesses: Sendable {
    /// The differences of a node from the others.
    struct Node: Sendable {
        var connection: String
        /// The folder of the working copy; nil for a new one.
        var folder: URL?
        /// The seconds by which its clock is ahead.
        var clockOffset = 0.0
    }

    private struct State {
        var ledger = FleetLedger()
        var lifeCounts: [Int: Int] = [:]
    }

    let store = "fleet \(UUID().uuidString)"
    let nodes: [Node]
    var indices: Range<Int> { nodes.indices }
    private let seed: UInt64
    private let folder: ScratchFolder
    private let launcher: [String]
    private let configure: @Sendable (inout FleetNodeSettings) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - seed: shown with each fault.
    ///   - launcher: see `HelperProcess`.
    ///   - configure: changes the settings of each process.
    init(
        _ nodes: [Node],
        seed: UInt64,
        launcher: [String] = [],
        configure: @escaping @Sendable (inout FleetNodeSettings) -> Void = { _ in }
    ) throws {
        folder = try ScratchFolder()
        self.nodes = nodes
        self.seed = seed
        self.launcher = launcher
        self.configure = configure
        for node in nodes.indices {
            try FileManager.default.createDirectory(at: copyFolder(node), withIntermediateDirectories: true)
        }
    }

    /// Nodes with the same connection string.
    convenience init(count: Int = 3, _ connection: String, seed: UInt64, launcher: [String] = []) throws {
        let nodes = [Node](repeating: Node(connection: connection), count: count)
        try self.init(nodes, seed: seed, launcher: launcher)
    }

    var ledger: FleetLedger { state.withLock { $0.ledger } }

    func add(fault: String) { state.withLock { $0.ledger.add(fault: fault) } }

    private func take(_ line: String, of life: String) { state.withLock { $0.ledger.take(line, of: life) } }

    // MARK: Files

    func copyFolder(_ node: Int) -> URL { nodes[node].folder ?? folder.file("node \(node)") }

    func copy(_ node: Int) -> URL { copyFolder(node).appendingPathComponent("store.sqlite") }

    private var stopFile: URL { folder.file("stop") }

    // MARK: Processes

    /// Starts a process of a node.
    ///
    /// - Parameter seconds: a process that has not ended after this time is a fault, and is killed.
    func start(
        _ node: Int,
        _ mode: FleetNodeSettings.Mode = .work,
        killAt step: FleetNodeSettings.Step? = nil,
        limit seconds: Int = 120
    ) throws -> FleetLife {
        let count = state.withLock { state in
            state.lifeCounts[node, default: 0] += 1
            return state.lifeCounts[node, default: 0]
        }
        let name = "\(node).\(count)"
        var settings = FleetNodeSettings(
            mode: mode,
            connection: nodes[node].connection,
            store: store,
            copy: copy(node).path,
            stopFile: stopFile.path,
            life: name
        )
        settings.killAt = step
        settings.clockOffset = nodes[node].clockOffset
        configure(&settings)
        let text = String(decoding: try JSONEncoder().encode(settings), as: UTF8.self)
        let process = try HelperProcess(helper: "strata-crash", ["node", text], launcher: launcher)
        return FleetLife(name, process, limit: seconds) { [weak self] line in
            self?.take(line, of: name)
        } late: { [weak self] in
            self?.add(fault: "\(name) (\(mode)) has not ended after \(seconds) seconds")
        }
    }

    /// Runs a process that must end by itself, or at a step.
    ///
    /// - Returns: whether it has ended at the step.
    @discardableResult
    func run(
        _ node: Int,
        _ mode: FleetNodeSettings.Mode,
        killAt step: FleetNodeSettings.Step? = nil
    ) async throws -> Bool {
        let life = try start(node, mode, killAt: step)
        if step != nil { expectKill(life) }
        let status = await life.end()
        if status == nil, step != nil { return true }
        if status != 0 { add(fault: "\(life.name) (\(mode)) has ended with \(status.map { "\($0)" } ?? "a signal")") }
        return false
    }

    /// Makes the rows that the work needs.
    func found() async throws { try await run(0, .found) }

    /// Kills a process.
    func kill(_ life: FleetLife) async {
        state.withLock { $0.ledger.interrupt(life.name) }
        life.kill()
        await life.end()
    }

    /// Records that a process ends at a step by itself.
    func expectKill(_ life: FleetLife) { state.withLock { $0.ledger.interrupt(life.name) } }

    /// Waits until each of these processes has made further commits.
    func waitForCommits(_ count: Int, of lives: [FleetLife]) async throws {
        let goals = lives.map { ($0.name, ledger.storedCount(of: $0.name) + count) }
        try await waitUntil("\(count) commits of each of \(goals.map(\.0)), STRATA_SEED=\(seed)") {
            let ledger = self.ledger
            return goals.allSatisfy { ledger.storedCount(of: $0.0) >= $0.1 } || !ledger.faults.isEmpty
        }
    }

    /// Lets the processes finish their commits and end.
    func stop(_ lives: [FleetLife]) async throws {
        try Data().write(to: stopFile)
        for life in lives {
            let status = await life.end()
            if status != 0 { add(fault: "\(life.name) has ended with \(status.map { "\($0)" } ?? "a signal")") }
        }
        try FileManager.default.removeItem(at: stopFile)
    }

    // MARK: The result

    /// Ends the queued operations, lets all nodes catch up, compares all copies with the home, and checks the rows.
    /// No process runs meanwhile.
    ///
    /// - Parameter connection: the connection string of the server.
    func settle(_ connection: String) async throws -> FleetWork.Audit {
        // A worker that does not know that it has claimed an operation has ended.
        try await run(nodes.count - 1, .settle)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes.indices.dropLast() { group.addTask { _ = try await self.run(node, .catchUp) } }
            try await group.waitForAll()
        }
        try compareCopies(of: nodes.indices, connection)
        let stack = try await ContextStack.open(
            .shared(try PostgresHome(connection, store: store), copy: folder.file("audit.sqlite")),
            models: FleetWork.models + Pipeline.models,
            stack: .rootOnly
        )
        let audit = try await stack.background { try FleetWork.audit($0) }
        try await stack.close()
        return audit
    }

    /// Settles, and expects that no acknowledged commit is lost and that nothing has happened twice.
    @discardableResult
    func check(_ connection: String) async throws -> FleetWork.Audit {
        let audit = try await settle(connection)
        #expect(ledger.faults(in: audit) == [], "STRATA_SEED=\(seed)")
        return audit
    }

    // MARK: Network namespaces

    /// The program that starts a process in a separate network, which has no links at all.
    static let namespaceLauncher = ["/usr/bin/unshare", "--net"]

    /// Whether this process may create network namespaces. Containers often forbid it.
    static let allowsNamespaces: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: namespaceLauncher[0])
        process.arguments = Array(namespaceLauncher.dropFirst()) + ["true"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
