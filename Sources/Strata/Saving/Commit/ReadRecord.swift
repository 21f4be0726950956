/// The reads of a context. A commit can require that everything the context has read is still unchanged.
///
/// Isolation: that of its context.
final class ReadRecord {
    private var entities: Set<Int> = []
    private var since: Int64?
    private(set) var isStale = false

    func note(_ statement: Statement) { if !statement.entities.isEmpty { entities.formUnion(statement.entities) } }

    /// Notes that the context reads another snapshot from now on. If the data it has read is unchanged between the two
    /// snapshots, its earlier reads are also valid in the new one.
    ///
    /// - Parameter cursor: the last event of the layers before the snapshot that the context has read until now.
    func begin(_ matched: LayerRegistry.MatchedLayers, after cursor: Int, _ layers: LayerRegistry) {
        defer { since = matched.sequence }
        guard let reads = reads(cursor), matched.sequence != reads.since else { return }
        // A commit in flight has not produced an event yet.
        isStale = isStale || matched.inFlight != nil || layers.state.withLock { $0.areStale(reads) }
    }

    /// The reads so far; nil if the context has read nothing.
    ///
    /// - Parameter cursor: the last event of the layers that the context has seen.
    func reads(_ cursor: Int) -> ContextReadSet? {
        since.map { ContextReadSet(entities: entities, since: $0, cursor: cursor, isStale: isStale) }
    }
}

/// The tables that a context has read. Each table counts as a whole.
struct ContextReadSet: Sendable {
    let entities: Set<Int>
    /// The number of the last commit that its reads have seen.
    let since: Int64
    /// The last event of the layers that the context has seen.
    let cursor: Int
    /// Whether some of the data had already changed at that time.
    let isStale: Bool
}

extension LayerRegistry.State {
    /// Whether commits have changed any table that a context has read, since it read that table.
    ///
    /// Complexity: O(commits since).
    func areStale(_ reads: ContextReadSet) -> Bool {
        if reads.isStale { return true }
        guard sequence != reads.since, !reads.entities.isEmpty else { return false }
        guard let events = events(after: reads.cursor) else { return true }
        return events.contains { event in
            guard case .commit(let number, _, _) = event.cause, number > reads.since else { return false }
            guard let unread = event.unread else { return true }
            return reads.entities.contains { event.parts[$0] != nil || unread[$0] != nil }
        }
    }
}
