import Synchronization

/// Who waits for whom, over all stacks of the process, so that a ring is found before it closes.
///
/// A ring consists of blocks that each wait at a gate which the next one holds. Waiting begins under the one lock of
/// the graph, so whoever would close a ring sees all its other members waiting, and they cannot move meanwhile. Blocks
/// without a block around them hold nothing while they wait: they take part in no ring and skip the graph.
///
/// Any task that descends from a block counts as part of it.
final class WaitGraph: Sendable {
    static let shared = WaitGraph()

    private struct Edge {
        let waiter: ObjectIdentifier
        let gate: Gate
    }

    /// The gates at which descendants of a running block wait.
    private let edges = Mutex<[ObjectIdentifier: [Edge]]>([:])

    /// Begins to wait, unless that would close a ring.
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

    /// Ends a wait by cancellation, if it has not ended otherwise.
    func cancel(_ waiter: Waiter, at gate: Gate) {
        // The edges go first: a waiter that is no longer served must not count for a ring.
        stopped(waiter)
        waiter.grant()?.resume(throwing: CancellationError())
    }

    /// Forgets a wait that is over.
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

    /// The gates of a ring that waiting at `gate` would close for a block with these ancestors.
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
