import Synchronization

/// The snapshots of this process that are open, so that a checkpoint that an older one has stopped short can go on once that is closed.
///
/// Isolation: any.
final class OpenSnapshots: Sendable {
    fileprivate struct State {
        /// The numbers of those that are open. There are as many as connections that read.
        var open: Set<UInt64> = []
        var last: UInt64 = 0
        /// Those up to this number have stopped a checkpoint short; 0 for none.
        var blocking: UInt64 = 0
    }

    private let state = Mutex(State())

    /// A new snapshot is about to be taken. Gives its number.
    func open() -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.open.insert(state.last)
            return state.last
        }
    }

    /// Whether the last of those that were in the way of a checkpoint is gone with this one.
    func close(_ number: UInt64) -> Bool {
        state.withLock { state in
            state.open.remove(number)
            guard number <= state.blocking else { return false }
            return state.unblock()
        }
    }

    /// A checkpoint was stopped short: maybe by those that are open now.
    func noteBlocked() {
        state.withLock { state in
            state.blocking = state.last
            _ = state.unblock()
        }
    }

    /// Whether a snapshot is open that has stopped a checkpoint short.
    var isBlocking: Bool { state.withLock { $0.blocking > 0 } }
}

extension OpenSnapshots.State {
    /// Forgets those in the way once none of them is open. Whether that is so.
    fileprivate mutating func unblock() -> Bool {
        guard !open.contains(where: { $0 <= blocking }) else { return false }
        blocking = 0
        return true
    }
}
