import Foundation

extension HomeTransaction {
    /// The next transaction after a position, published now.
    init(after previous: HomePosition, by node: UUID, _ changes: HomeChanges, generation: Int64? = nil) {
        self.init(
            previous: previous,
            position: HomePosition(number: previous.number + 1, id: UUID()),
            node: node,
            time: Date(),
            changes: changes,
            generation: generation
        )
    }
}

/// Joins the transactions of a writer with those of the store's home.
///
/// A transaction takes the home's lock before SQLite's, so that it is based on all transactions of all nodes. If no other
/// node has committed recently, the transaction is *optimistic*: it runs without the lock, and the home stores it only if
/// it is based on the newest one. Otherwise all of its writes run again, with the lock.
///
/// The changes are published before SQLite's COMMIT. So the copy never contains a transaction that the home does not have.
/// If the process ends in between, the home brings the transaction back.
///
/// Isolation: used inside the database's writer.
final class HomeLink {
    let follower: HomeFollower
    /// Reports to the home how far the working copy is.
    let reporter: NodeReporter
    private let node: UUID
    private let capture: RowCapture
    private var joining = HomeJoining.locked
    /// Whether a write of the running transaction needs the newest state, even if nothing has changed.
    private var needsNewest = false
    /// The position for which the home has given the lock; nil without the lock.
    private var base: HomePosition?
    /// The position that the running transaction has published.
    private var published: HomePosition?
    private var home: any StoreHome { follower.home }

    /// - Parameter description: the tables that the home keeps.
    init(
        _ follower: HomeFollower,
        _ reporter: NodeReporter,
        _ description: HomeDescription,
        node: UUID,
        on connection: Connection
    ) {
        self.follower = follower
        self.reporter = reporter
        self.node = node
        capture = RowCapture(of: description.tables.map(\.name), on: connection)
    }

    /// How a transaction should be joined that begins with a write.
    func chooseJoining(for access: HomeAccess) -> HomeJoining {
        switch access {
        case .locked: .locked
        case .newest: follower.isAlone ? .optimistic : .locked
        case .look: follower.isAlone ? .optimistic : .look
        }
    }

    /// Takes the home's lock, if the transaction needs it. Called before SQLite's BEGIN.
    ///
    /// - Throws: `unreachable`, `busy` and the other errors of a home; then the home's lock is free.
    func prepare(_ joining: HomeJoining) throws {
        (self.joining, needsNewest) = (joining, false)
        if joining == .locked { base = try follower.lock() }
    }

    /// Notes that a write of the running transaction begins.
    func willRun(_ access: HomeAccess) { if access != .look { needsNewest = true } }

    /// Begins to collect the changes of a transaction. Called after SQLite's BEGIN.
    func begin() throws { try capture.start() }

    /// Publishes the changes of the running transaction, and frees the home's lock. Called before SQLite's COMMIT.
    ///
    /// - Throws: `uncertain` if the home may have stored the transaction or not; another error if it has not;
    ///   ``OutdatedTransaction`` if the writes of the transaction must run again, with the lock.
    func publish(on connection: Connection) throws {
        let changes = try capture.finish()
        switch joining {
        case .locked: try publishLocked(changes, on: connection)
        case .optimistic: try publishOptimistically(changes, on: connection)
        case .look: if !changes.isEmpty { throw PassedError(OutdatedTransaction()) }
        }
    }

    /// The record of the copy is not read before. The statement that changes it names the position that the home had
    /// when it gave the lock. So the transaction of SQLite that has the rows also proves what they are based on.
    private func publishLocked(_ changes: HomeChanges, on connection: Connection) throws {
        guard let base, !changes.isEmpty else { return home.unlock() }
        let transaction = HomeTransaction(after: base, by: node, changes)
        guard try CopyRecord.move(from: base, to: transaction.position, on: connection) else {
            throw try follower.error(insteadOf: base, on: connection)
        }
        _ = try settle(transaction) {
            try home.publish(transaction)
            return true
        }
    }

    /// The record of the copy is read inside the transaction: without the home's lock, another process may have moved
    /// the copy before SQLite's BEGIN.
    private func publishOptimistically(_ changes: HomeChanges, on connection: Connection) throws {
        if changes.isEmpty, !needsNewest { return }
        let position = try CopyRecord.read(on: connection).position
        guard position != CopyRecord.damaged else { throw HomeFollower.damagedError.naming(connection.path) }
        let isNewest: Bool
        if changes.isEmpty {
            isNewest = try home.newest() == position
        } else {
            let transaction = HomeTransaction(after: position, by: node, changes)
            try CopyRecord.move(to: transaction.position, on: connection)
            isNewest = try settle(transaction) { try home.publishIfNewest(transaction) }
        }
        if isNewest { return }
        follower.noteOthers()
        throw PassedError(OutdatedTransaction())
    }

    /// Publishes a transaction, and asks the home again if its answer is lost.
    ///
    /// - Parameter publish: returns whether the transaction is stored.
    /// - Returns: whether the transaction is stored.
    private func settle(_ transaction: HomeTransaction, _ publish: () throws -> Bool) throws -> Bool {
        do {
            guard try publish() else { return false }
        } catch let error as StrataError where error.code == .uncertain {
            guard let isStored = try? home.outcome(of: transaction.position.id) else { throw error }
            if !isStored { throw Self.notStored(error) }
        }
        published = transaction.position
        return true
    }

    /// The error of a write that has failed in the running transaction. Without the home's lock, the write runs again.
    func decide(_ error: any Error) -> any Error {
        joining == .locked || OutdatedTransaction.isFinal(error) ? error : PassedError(OutdatedTransaction())
    }

    /// Notes the end of a transaction. Called after SQLite's COMMIT.
    func end() {
        if let published { follower.noteReached(published) }
        (base, published) = (nil, nil)
    }

    /// Forgets the changes of a transaction that has failed, and frees the home's lock.
    func abandon() {
        capture.stop()
        if joining == .locked { home.unlock() }
        (base, published) = (nil, nil)
    }

    private static func notStored(_ error: StrataError) -> StrataError {
        StrataError(
            .unreachable,
            "The connection to the home was lost during the commit, and nothing was stored. Commit again.",
            underlying: error
        )
    }

    /// The error of a transaction that the home has stored, and SQLite has not.
    static func publishedError(_ error: any Error) -> StrataError {
        StrataError(
            .uncertain,
            "The home has stored this commit, but the working copy could not be written. The commit appears in the copy as "
                + "soon as it can be written again.",
            underlying: error
        )
    }
}
