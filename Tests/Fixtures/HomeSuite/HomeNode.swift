import Foundation
import Strata

/// A node of the suite, with its own connection to the home.
final class HomeNode: Sendable {
    let home: any StoreHome
    let id = UUID()
    /// When all transactions were published. Homes may round times to microseconds.
    static let time = Date(timeIntervalSinceReferenceDate: 817_000_000.125)

    init(_ home: any StoreHome) { self.home = home }

    @discardableResult
    func open(_ description: HomeDescription = SampleStore.description, busyTimeout: TimeInterval = 60) throws
        -> HomeState
    {
        try home.open(description, busyTimeout: busyTimeout)
    }

    /// A transaction of this node that follows a position.
    func transaction(after previous: HomePosition, _ changes: HomeChanges) -> HomeTransaction {
        HomeTransaction(
            previous: previous,
            position: HomePosition(number: previous.number + 1, id: UUID()),
            node: id,
            time: Self.time,
            changes: changes
        )
    }

    /// Publishes changes after the newest transaction.
    @discardableResult
    func publish(_ changes: HomeChanges) throws -> HomeTransaction {
        var previous = try home.newest()
        previous = try home.lock(after: previous, limit: 1_000).last?.position ?? previous
        let transaction = self.transaction(after: previous, changes)
        try home.publish(transaction)
        return transaction
    }

    /// Publishes changes after the newest transaction, without the lock.
    ///
    /// - Throws: ``HomeFailure`` if other nodes are faster each time.
    func publishWithoutLock(_ changes: HomeChanges) throws -> HomeTransaction {
        for _ in 0..<20_000 {
            let transaction = self.transaction(after: try home.newest(), changes)
            if try home.publishIfNewest(transaction) { return transaction }
        }
        throw HomeFailure(description: "The home has refused a transaction without the lock 20,000 times.")
    }

    /// Takes the lock and frees it.
    func lockAndUnlock() throws {
        _ = try home.lock(after: try home.newest(), limit: 1)
        home.unlock()
    }

    /// All rows of the home, and the position that they belong to.
    func copy() throws -> (rows: SampleRows, position: HomePosition) {
        var rows = SampleRows()
        let position = try home.copy { table, portion in
            for row in portion { try rows.add(row, to: table) }
        }
        return (rows, position)
    }

    /// All transactions of the home.
    func transactions() throws -> [HomeTransaction] { try home.transactions(after: .start, limit: 10_000).transactions }
}

extension HomeTransaction {
    /// Throws unless two transactions are the same.
    func expectSame(as other: HomeTransaction) throws {
        try expect("the position before", is: previous, other.previous)
        try expect("the position", is: position, other.position)
        try expect("the node", is: node, other.node)
        try expect("the changes", is: changes, other.changes)
        try expect(abs(time.timeIntervalSince(other.time)) < 0.001, "The time is \(time), not \(other.time).")
    }
}
