import Foundation
import StoreModels
import Strata
import StrataPostgres
import Synchronization

/// A home in PostgreSQL that ends the process at a step, and whose transactions have the time of the node's clock.
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

    func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        reach("before lock")
        let transactions = try home.lock(after: position, limit: limit)
        reach("after lock")
        return transactions
    }

    func publish(_ transaction: HomeTransaction) throws {
        reach("before publish")
        try home.publish(shifted(transaction))
        reach("after publish")
    }

    /// A node that was alone publishes so. The home then takes the lock during this call.
    func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        reach("before publish")
        let isStored = try home.publishIfNewest(shifted(transaction))
        reach("after publish")
        return isStored
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

    // MARK: Calls without steps

    var name: String { home.name }

    func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
        try home.open(proposal, busyTimeout: busyTimeout, synchronous: synchronous)
    }

    func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try home.create(state, nextID: nextID, fill)
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

    func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        try home.copy(receive)
    }

    func transactions(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try home.transactions(after: position, limit: limit)
    }

    func newest() throws -> HomePosition { try home.newest() }

    func unlock() { home.unlock() }

    func outcome(of id: UUID) throws -> Bool { try home.outcome(of: id) }

    func reserveIDs(_ count: Int64) throws -> Int64 { try home.reserveIDs(count) }

    func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try home.report(position, of: node, named: name)
    }

    func nodes() throws -> [HomeNodeStatus] { try home.nodes() }

    func listen(_ notify: @escaping @Sendable () -> Void) { home.listen(notify) }

    func close() { home.close() }
}
