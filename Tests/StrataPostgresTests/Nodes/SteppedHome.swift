import Foundation
import Strata
import StrataPostgres
import Synchronization

/// What a test does around the publishing of a transaction.
final class PublishingSteps: Sendable {
    private struct Steps: Sendable {
        var before: @Sendable () -> Void = {}
        var after: @Sendable () -> Void = {}
    }

    private let steps = Mutex(Steps())

    /// Sets the functions for the transactions from now on.
    ///
    /// - Parameters:
    ///   - before: called before anything is sent. The node has the lock, unless it was alone.
    ///   - after: called when the answer has come, or was lost.
    func set(before: @escaping @Sendable () -> Void = {}, after: @escaping @Sendable () -> Void = {}) {
        steps.withLock { $0 = Steps(before: before, after: after) }
    }

    func around<Answer>(_ publish: () throws -> Answer) throws -> Answer {
        let steps = steps.withLock { $0 }
        steps.before()
        defer { steps.after() }
        return try publish()
    }
}

/// A home in PostgreSQL with steps around each transaction.
final class SteppedHome: StoreHome {
    private let base: PostgresHome
    private let steps: PublishingSteps

    init(_ base: PostgresHome, _ steps: PublishingSteps) { (self.base, self.steps) = (base, steps) }

    var name: String { base.name }

    func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
        try base.open(proposal, busyTimeout: busyTimeout, synchronous: synchronous)
    }

    func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try base.create(state, nextID: nextID, fill)
    }

    func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try base.migrate(within: limit, plan, fill)
    }

    func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        try base.copy(receive)
    }

    func transactions(after position: HomePosition, limit: Int) throws -> HomePortion {
        try base.transactions(after: position, limit: limit)
    }

    func newest() throws -> HomePosition { try base.newest() }

    func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try base.lock(after: position, limit: limit)
    }

    func publish(_ transaction: HomeTransaction) throws { try steps.around { try base.publish(transaction) } }

    func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        try steps.around { try base.publishIfNewest(transaction) }
    }

    func unlock() { base.unlock() }

    func outcome(of id: UUID) throws -> Bool { try base.outcome(of: id) }

    func reserveIDs(_ count: Int64) throws -> Int64 { try base.reserveIDs(count) }

    func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try base.report(position, of: node, named: name)
    }

    func nodes() throws -> [HomeNodeStatus] { try base.nodes() }

    func listen(_ notify: @escaping @Sendable () -> Void) { base.listen(notify) }

    func close() { base.close() }
}
