import Synchronization

/// The open snapshots of a store in this process. They show when an incomplete checkpoint can be completed.
///
/// Isolation: any.
final class OpenSnapshots: Sendable {
    fileprivate struct State {
        /// The numbers of the open snapshots.
        var open: Set<UInt64> = []
        var last: UInt64 = 0
        /// Open snapshots up to this number have made a checkpoint incomplete; 0 if none has.
        var blocking: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Notes that a snapshot is about to be taken, and returns its number.
    func open() -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.open.insert(state.last)
            return state.last
        }
    }

    /// Notes that a snapshot is closed. Returns whether it was the last one in the way of a checkpoint.
    func close(_ number: UInt64) -> Bool {
        state.withLock { state in
            state.open.remove(number)
            guard number <= state.blocking else { return false }
            return state.unblock()
        }
    }

    /// Notes that a checkpoint was incomplete, maybe because of the snapshots that are open now.
    func noteBlocked() {
        state.withLock { state in
            state.blocking = state.last
            _ = state.unblock()
        }
    }

    /// Whether a snapshot is open that has made a checkpoint incomplete.
    var isBlocking: Bool { state.withLock { $0.blocking > 0 } }
}

extension OpenSnapshots.State {
    /// Resets ``blocking`` if none of those snapshots is open. Returns whether it has.
    fileprivate mutating func unblock() -> Bool {
        guard !open.contains(where: { $0 <= blocking }) else { return false }
        blocking = 0
        return true
    }
}
