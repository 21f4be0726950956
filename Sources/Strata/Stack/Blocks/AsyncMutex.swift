import Synchronization

/// A fair, reentrant lock that admits one block at a time into a context, in order of arrival, and holds across awaits.
///
/// A block of the task that is already inside joins the current block. Waiting is cancellable. A wait that would
/// deadlock throws an error instead; see `DeadlockDetector`.
final class AsyncMutex: Sendable {
    /// How a block entered.
    enum Entry {
        /// As the only block inside.
        case alone
        /// As part of a block that encloses it in the same task.
        case joined
    }

    fileprivate struct State {
        var holder: BlockScope?
        var waiters: [MutexWaiter] = []
        /// The index of the first waiter, so that removing a waiter from a long queue is cheap.
        var head = 0
    }

    private let state = Mutex(State())

    /// The name of the guarded context, for messages.
    let name: String

    init(name: String) {
        self.name = name
    }

    /// The block inside, if there is one.
    var holder: BlockScope? {
        state.withLock { $0.holder }
    }

    /// The number of waiting blocks, for tests and dumps.
    var waitingCount: Int {
        state.withLock { $0.waiters.count - $0.head }
    }

    /// Admits the block if no other block is inside or the block may join; nil if the block must wait.
    func tryEnter(_ scope: BlockScope) -> Entry? {
        state.withLock { state in
            guard let holder = state.holder else {
                state.holder = scope
                return .alone
            }
            return holder.task == scope.task && scope.descends(from: holder) ? .joined : nil
        }
    }

    /// Waits until the mutex admits the block.
    ///
    /// - Throws: `deadlock` if the wait would deadlock, `CancellationError` if the task is cancelled first.
    nonisolated(nonsending) func wait(_ scope: BlockScope) async throws {
        let waiter = MutexWaiter(scope)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                do {
                    try DeadlockDetector.shared.wait(waiter, at: self, continuation)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            DeadlockDetector.shared.cancel(waiter)
        }
        DeadlockDetector.shared.stopped(waiter)
    }

    /// Lets the block out and the next one in.
    func leave(_ scope: BlockScope) {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard state.holder === scope else { return nil }
            state.holder = nil
            while state.head < state.waiters.count {
                let waiter = state.waiters[state.head]
                state.head += 1
                if let continuation = waiter.grant() {
                    state.holder = waiter.scope
                    state.trim()
                    return continuation
                }
            }
            state.trim()
            return nil
        }
        next?.resume()
    }

    /// Queues the waiter, or admits it if the mutex has become free. `DeadlockDetector` calls this while it holds its
    /// lock.
    ///
    /// - Returns: Whether the waiter is now in the queue.
    func enqueue(_ waiter: MutexWaiter, _ continuation: CheckedContinuation<Void, any Error>) throws -> Bool {
        let isFree = state.withLock { state -> Bool? in
            guard waiter.arm(continuation) else { return nil }
            if state.holder == nil {
                _ = waiter.grant()
                state.holder = waiter.scope
                return true
            }
            state.waiters.append(waiter)
            return false
        }
        guard let isFree else { throw CancellationError() }
        if isFree { continuation.resume() }
        return !isFree
    }
}

extension AsyncMutex.State {
    /// Removes the served waiters from time to time.
    fileprivate mutating func trim() {
        if head == waiters.count {
            waiters.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head > waiters.count / 2 {
            waiters.removeFirst(head)
            head = 0
        }
    }
}
