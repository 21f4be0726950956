import Foundation
import StoreModels
import Strata
import StrataPostgres
import Synchronization

/// A home in PostgreSQL that ends the process at a step, and whose transactions have the time of the node's clock.
///
/// The steps inside of the calls, between the requests of libpq, are those of `CKillSwitch`.
final class SteppedHome: StoreHome {
    private let home: PostgresHome
    private let step: FleetNodeSettings.Step?
    private let clockOffset: TimeInterval
    private let count = Atomic(0)

    init(_ home: PostgresHome, _ settings: FleetNodeSettings) {
        self.home = home
        step = settings.killAt
        clockOffset = settings.clockOffset
    }

    private func reach(_ kind: String) {
        guard let step, step.kind == kind else { return }
        guard count.add(1, ordering: .relaxed).newValue == step.number else { return }
        kill(getpid(), SIGKILL)
        // The signal may reach another thread first.
        while true { sleep(1) }
    }

    /// Calls the home between the steps of a call.
    private func around<Answer>(_ call: String, _ body: () throws -> Answer) rethrows -> Answer {
        reach("before \(call)")
        let answer = try body()
        reach("after \(call)")
        return answer
    }

    func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
        try around("open") { try home.open(proposal, busyTimeout: busyTimeout, synchronous: synchronous) }
    }

    func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        try around("copy") {
            try home.copy { table, rows in
                try receive(table, rows)
                reach("portion")
            }
        }
    }

    func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try around("lock") { try home.lock(after: position, limit: limit) }
    }

    func reserveIDs(_ count: Int64) throws -> Int64 { try around("reserveIDs") { try home.reserveIDs(count) } }

    func publish(_ transaction: HomeTransaction) throws {
        let kinds = try self.kinds(of: transaction, isLocked: true)
        for kind in kinds { reach("before \(kind)") }
        try home.publish(shifted(transaction))
        for kind in kinds { reach("after \(kind)") }
    }

    /// A node that was alone publishes so. The home then takes the lock during this call.
    func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        let kinds = try self.kinds(of: transaction, isLocked: false)
        for kind in kinds { reach("before \(kind)") }
        guard try home.publishIfNewest(shifted(transaction)) else { return false }
        for kind in kinds { reach("after \(kind)") }
        return true
    }

    /// The names of a transaction's steps: `publish`, and those of ``FleetNodeSettings/Step/transactions`` that its
    /// commits have. Their authors are in its rows of the history.
    private func kinds(of transaction: HomeTransaction, isLocked: Bool) throws -> [String] {
        guard step != nil else { return [] }
        var authors: Set<String> = []
        try transaction.changes.forEach { table, change in
            // The columns are the number, the time and the author.
            guard table == "strata_history", case .insert(let values) = change, case .text(let author) = values[2]
            else { return }
            authors.insert(author)
        }
        let commits = authors.compactMap { FleetCommit($0) }
        var kinds = ["publish"]
        if commits.contains(where: { $0.kind == .batch }) { kinds.append("batch") }
        if commits.contains(where: { $0.kind != .batch }) { kinds.append(isLocked ? "locked" : "optimistic") }
        if commits.count > 1 { kinds.append("group") }
        if authors.contains("strata.pipeline") { kinds.append("pass") }
        return kinds
    }

    /// The transaction with the time of the node's clock.
    private func shifted(_ transaction: HomeTransaction) -> HomeTransaction {
        HomeTransaction(
            previous: transaction.previous,
            position: transaction.position,
            node: transaction.node,
            time: transaction.time.addingTimeInterval(clockOffset),
            changes: transaction.changes
        )
    }

    func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        let isMigrated = try home.migrate(
            within: limit,
            { state in
                let migration = try plan(state)
                if migration != nil { reach("before migrate") }
                return migration
            },
            fill
        )
        if isMigrated { reach("after migrate") }
        return isMigrated
    }

    // MARK: Calls without steps

    var name: String { home.name }

    func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try home.create(state, nextID: nextID, fill)
    }

    func transactions(after position: HomePosition, limit: Int) throws -> HomePortion {
        try home.transactions(after: position, limit: limit)
    }

    func newest() throws -> HomePosition { try home.newest() }

    func unlock() { home.unlock() }

    func outcome(of id: UUID) throws -> Bool { try home.outcome(of: id) }

    func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try home.report(position, of: node, named: name)
    }

    func nodes() throws -> [HomeNodeStatus] { try home.nodes() }

    func listen(_ notify: @escaping @Sendable () -> Void) { home.listen(notify) }

    func close() { home.close() }
}
