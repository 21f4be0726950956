import Synchronization

/// The wait-for graph over all stacks of the process, which detects a deadlock before it happens.
///
/// A cycle consists of blocks that each wait at a mutex which the next block holds. A wait begins under the single lock
/// of the graph. A block that would close a cycle therefore sees all other members of the cycle waiting, and they
/// cannot move meanwhile. A block without an enclosing block holds no mutex while it waits. It cannot be part of a
/// cycle and skips the graph.
///
/// Any task that descends from a block counts as part of the block.
final class DeadlockDetector: Sendable {
    static let shared = DeadlockDetector()

    private struct Edge {
        let waiter: ObjectIdentifier
        let mutex: AsyncMutex
    }

    /// The mutexes at which descendants of a running block wait.
    private let edges = Mutex<[ObjectIdentifier: [Edge]]>([:])

    /// Begins to wait, unless the wait would close a cycle.
    func wait(_ waiter: MutexWaiter, at mutex: AsyncMutex, _ continuation: CheckedContinuation<Void, any Error>) throws
    {
        if waiter.scope.outer == nil {
            _ = try mutex.enqueue(waiter, continuation)
            return
        }
        let ancestors = waiter.scope.runningAncestors
        try edges.withLock { edges in
            if let cycle = Self.cycle(from: mutex, to: ancestors, edges) {
                throw Self.error(cycle)
            }
            guard try mutex.enqueue(waiter, continuation) else { return }
            for ancestor in ancestors {
                let edge = Edge(waiter: ObjectIdentifier(waiter), mutex: mutex)
                edges[ObjectIdentifier(ancestor), default: []].append(edge)
            }
        }
    }

    /// Ends a wait by cancellation, if it has not already ended.
    func cancel(_ waiter: MutexWaiter) {
        // The edges are removed first: a waiter that is no longer served must not count for a cycle.
        stopped(waiter)
        waiter.grant()?.resume(throwing: CancellationError())
    }

    /// Removes a finished wait from the graph.
    func stopped(_ waiter: MutexWaiter) {
        if waiter.scope.outer == nil { return }
        edges.withLock { edges in
            for ancestor in waiter.scope.chain.dropFirst() {
                let key = ObjectIdentifier(ancestor)
                if var own = edges.removeValue(forKey: key) {
                    own.removeAll { $0.waiter == ObjectIdentifier(waiter) }
                    if !own.isEmpty { edges[key] = own }
                }
            }
        }
    }

    /// The mutexes of the cycle that waiting at `mutex` would close for a block with these ancestors.
    private static func cycle(
        from mutex: AsyncMutex,
        to ancestors: [BlockScope],
        _ edges: [ObjectIdentifier: [Edge]]
    ) -> [AsyncMutex]? {
        var visited: Set<ObjectIdentifier> = []
        func follow(_ mutex: AsyncMutex, _ path: [AsyncMutex]) -> [AsyncMutex]? {
            guard visited.insert(ObjectIdentifier(mutex)).inserted, let holder = mutex.holder else { return nil }
            let path = path + [mutex]
            if ancestors.contains(where: { $0 === holder }) { return path }
            for edge in edges[ObjectIdentifier(holder)] ?? [] {
                if let cycle = follow(edge.mutex, path) { return cycle }
            }
            return nil
        }
        return follow(mutex, [])
    }

    private static func error(_ cycle: [AsyncMutex]) -> StrataError {
        let names = cycle.map(\.name).joined(separator: ", which waits for ")
        guard cycle.count > 1 else {
            return StrataError(
                .deadlock,
                "A task that was started inside a block on \(names) waits for that block. "
                    + "Call from the block itself, or start the task with Task.detached and do not await it there."
            )
        }
        return StrataError(
            .deadlock,
            "Contexts wait for each other: this block waits for \(names), which waits for this block. "
                + "Leave one block before you enter the other."
        )
    }
}
