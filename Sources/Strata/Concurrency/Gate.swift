import Synchronization

/// Lets one block at a time into a context, first come, first served, also across the awaits of a block.
///
/// A block of the task that is inside already joins it. Waiting is cancellable, and waiting that would never end is
/// thrown instead; see `WaitGraph`.
final class Gate: Sendable {
    /// How a block got in.
    enum Entry {
        /// As the one block inside.
        case alone
        /// As part of a block that its own task has around it.
        case joined
    }

    fileprivate struct State {
        var holder: BlockScope?
        var waiters: [Waiter] = []
        /// Index of the first waiter, so that taking one from a long queue is cheap.
        var head = 0
    }

    private let state = Mutex(State())

    /// What the gate guards, for messages.
    let name: String

    init(name: String) {
        self.name = name
    }

    /// The block inside, if there is one.
    var holder: BlockScope? {
        state.withLock { $0.holder }
    }

    /// How many blocks wait, for tests and dumps.
    var waitingCount: Int {
        state.withLock { $0.waiters.count - $0.head }
    }

    /// Lets the block in if nobody is inside or the block may join; nil when it has to wait.
    func tryEnter(_ scope: BlockScope) -> Entry? {
        state.withLock { state in
            guard let holder = state.holder else {
                state.holder = scope
                return .alone
            }
            return holder.task == scope.task && scope.descends(from: holder) ? .joined : nil
        }
    }

    /// Waits until it is the block's turn.
    ///
    /// - Throws: `waitingRing` when that turn would never come, `CancellationError` when the task is cancelled first.
    nonisolated(nonsending) func wait(_ scope: BlockScope) async throws {
        let waiter = Waiter(scope)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                do {
                    try WaitGraph.shared.wait(waiter, at: self, continuation)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            WaitGraph.shared.cancel(waiter, at: self)
        }
        WaitGraph.shared.stopped(waiter)
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

    /// Queues the waiter, or lets it in if the gate has become free; for `WaitGraph`, which holds its lock meanwhile.
    ///
    /// - Returns: Whether it is in the queue now.
    func enqueue(_ waiter: Waiter, _ continuation: CheckedContinuation<Void, any Error>) throws -> Bool {
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

extension Gate.State {
    /// Forgets the waiters that were served, now and then.
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
