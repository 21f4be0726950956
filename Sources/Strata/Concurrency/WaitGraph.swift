import Synchronization

/// The wait-for graph over all stacks of the process, which detects a deadlock before it happens.
///
/// A cycle consists of blocks that each wait at a gate which the next block holds. A wait begins under the single lock
/// of the graph. A block that would close a cycle therefore sees all other members of the cycle waiting, and they
/// cannot move meanwhile. A block without an enclosing block holds no gate while it waits. It cannot be part of a cycle
/// and skips the graph.
///
/// Any task that descends from a block counts as part of the block.
final class WaitGraph: Sendable {
    static let shared = WaitGraph()

    private struct Edge {
        let waiter: ObjectIdentifier
        let gate: Gate
    }

    /// The gates at which descendants of a running block wait.
    private let edges = Mutex<[ObjectIdentifier: [Edge]]>([:])

    /// Begins to wait, unless the wait would close a cycle.
    func wait(_ waiter: Waiter, at gate: Gate, _ continuation: CheckedContinuation<Void, any Error>) throws {
        if waiter.scope.outer == nil {
            _ = try gate.enqueue(waiter, continuation)
            return
        }
        let ancestors = waiter.scope.runningAncestors
        try edges.withLock { edges in
            if let ring = Self.ring(from: gate, to: ancestors, edges) {
                throw Self.error(ring)
            }
            guard try gate.enqueue(waiter, continuation) else { return }
            for ancestor in ancestors {
                let edge = Edge(waiter: ObjectIdentifier(waiter), gate: gate)
                edges[ObjectIdentifier(ancestor), default: []].append(edge)
            }
        }
    }

    /// Ends a wait by cancellation, if it has not already ended.
    func cancel(_ waiter: Waiter, at gate: Gate) {
        // The edges are removed first: a waiter that is no longer served must not count for a cycle.
        stopped(waiter)
        waiter.grant()?.resume(throwing: CancellationError())
    }

    /// Removes a finished wait from the graph.
    func stopped(_ waiter: Waiter) {
        if waiter.scope.outer == nil { return }
        edges.withLock { edges in
            var scope = waiter.scope.outer
            while let ancestor = scope {
                let key = ObjectIdentifier(ancestor)
                if var own = edges.removeValue(forKey: key) {
                    own.removeAll { $0.waiter == ObjectIdentifier(waiter) }
                    if !own.isEmpty { edges[key] = own }
                }
                scope = ancestor.outer
            }
        }
    }

    /// The gates of the cycle that waiting at `gate` would close for a block with these ancestors.
    private static func ring(
        from gate: Gate,
        to ancestors: [BlockScope],
        _ edges: [ObjectIdentifier: [Edge]]
    ) -> [Gate]? {
        var visited: Set<ObjectIdentifier> = []
        func follow(_ gate: Gate, _ path: [Gate]) -> [Gate]? {
            guard visited.insert(ObjectIdentifier(gate)).inserted, let holder = gate.holder else { return nil }
            let path = path + [gate]
            if ancestors.contains(where: { $0 === holder }) { return path }
            for edge in edges[ObjectIdentifier(holder)] ?? [] {
                if let ring = follow(edge.gate, path) { return ring }
            }
            return nil
        }
        return follow(gate, [])
    }

    private static func error(_ ring: [Gate]) -> StrataError {
        let names = ring.map(\.name).joined(separator: ", which waits for ")
        guard ring.count > 1 else {
            return StrataError(
                .waitingRing,
                "A task that was started inside a block on \(names) waits for that block. "
                    + "Call from the block itself, or start the task with Task.detached and do not await it there."
            )
        }
        return StrataError(
            .waitingRing,
            "Contexts wait for each other: this block waits for \(names), which waits for this block. "
                + "Leave one block before you enter the other."
        )
    }
}
