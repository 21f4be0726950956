import Dispatch
import Foundation
import Synchronization

/// Shows the server that this node works, while it has the lock of the home.
///
/// The server takes the lock from a session that sends nothing for `PostgresHome.lockTimeout`. While a node runs the
/// block of a commit, or writes many rows into its working copy, it needs nothing from the server. This may take longer,
/// so a statement is sent from time to time. A process that is stopped or has died sends none.
///
/// Isolation: any.
final class LockKeeper: Sendable {
    private struct State {
        /// When the node took the lock; nil if it does not have it.
        var start: ContinuousClock.Instant?
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let slot: ConnectionSlot
    private let interval: TimeInterval
    private let timeout: TimeInterval
    private let limit: Duration
    private let queue = DispatchQueue(label: "strata.lock", qos: .userInitiated)

    /// - Parameters:
    ///   - slot: the connection that has the lock as its open transaction.
    ///   - lockTimeout: the seconds after which the server takes the lock from a silent session.
    ///   - timeout: the seconds for the answer of the server. Shorter than the time for which calls wait for the
    ///     connection, so that a silent server does not keep them from ending the transaction.
    ///   - limit: the seconds after which the node counts as stuck, and loses the lock.
    init(_ slot: ConnectionSlot, lockTimeout: TimeInterval, timeout: TimeInterval, limit: TimeInterval) {
        self.slot = slot
        self.timeout = timeout
        interval = lockTimeout / 3
        self.limit = .seconds(limit)
    }

    /// Begins to keep a lock that the node has just taken.
    func begin() {
        state.withLock { state in
            state.start = .now
            schedule(&state)
        }
    }

    /// The node does not need the lock any more.
    func end() { state.withLock { $0.start = nil } }

    /// A timer runs only while the node has the lock.
    private func schedule(_ state: inout State) {
        if state.isScheduled { return }
        state.isScheduled = true
        queue.asyncAfter(deadline: .now() + interval) { [weak self] in self?.look() }
    }

    private func look() {
        // The node may take the lock again during this call, and then needs another one.
        let start = state.withLock { state in
            state.isScheduled = false
            return state.start
        }
        guard let start, start.duration(to: .now) < limit, slot.touchTransaction(within: timeout) else { return }
        state.withLock { schedule(&$0) }
    }
}
