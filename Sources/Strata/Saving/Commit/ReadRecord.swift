/// The reads of a context. A commit can require that everything the context has read is still unchanged. A live
/// sequence waits until something of it has changed.
///
/// Isolation: that of its context.
final class ReadRecord {
    private var entities: Set<Int> = []
    /// The number of the last commit that the reads have seen; nil before the first read.
    private var since: Int64?
    private(set) var isStale = false
    /// The contexts below the reading one, whose unsaved changes it sees.
    private let parents: [Int]

    init(parents: some Sequence<Int>) { self.parents = Array(parents) }

    func note(_ statement: Statement) { if !statement.entities.isEmpty { entities.formUnion(statement.entities) } }

    /// Notes that the context reads another snapshot from now on. If the data it has read is unchanged between the two
    /// snapshots, its earlier reads are also valid in the new one.
    ///
    /// - Parameter event: the last event of the log before the snapshot that the context has read until now.
    func begin(_ matched: LayerRegistry.MatchedLayers, after event: Int, _ layers: LayerRegistry) {
        if let reads = reads(event) {
            let hasNewCommits = matched.sequence != reads.cursor.sequence
            // A commit in flight has not produced an event yet.
            if hasNewCommits, !matched.inFlight.isEmpty { isStale = true }
            if hasNewCommits || !parents.isEmpty, layers.state.withLock({ $0.log.areStale(reads) }) { isStale = true }
        }
        since = matched.sequence
        // A row that a parent has changed is read from the parent's layer, without a statement.
        for parent in parents {
            for segment in matched.layers[parent] { entities.formUnion(segment.parts.keys) }
        }
    }

    /// The reads so far; nil if the context has read nothing.
    ///
    /// - Parameter event: the last event of the log that the context has seen.
    func reads(_ event: Int) -> ContextReadSet? {
        since.map { sequence in
            let cursor = CommitLog.Cursor(event: event, sequence: sequence)
            return ContextReadSet(entities: entities, parents: parents, cursor: cursor, isStale: isStale)
        }
    }
}

/// The tables that a context has read. Each table counts as a whole.
struct ContextReadSet: Sendable {
    let entities: Set<Int>
    /// The contexts whose unsaved changes are among the reads.
    let parents: [Int]
    /// The last event that the context has seen, and the last commit that its reads have seen.
    let cursor: CommitLog.Cursor
    /// Whether some of the data had already changed at that time.
    let isStale: Bool
}

extension CommitLog {
    /// Whether commits, or changes of its parents' layers, have changed any table that a context has read, since it
    /// read that table.
    ///
    /// Complexity: O(events since).
    func areStale(_ reads: ContextReadSet) -> Bool {
        if reads.isStale { return true }
        guard end.sequence != reads.cursor.sequence || !reads.parents.isEmpty, !reads.entities.isEmpty else {
            return false
        }
        guard let events = events(after: reads.cursor.event) else { return true }
        return events.contains { event in
            switch event.cause {
            case .commit(let number, _, _): number > reads.cursor.sequence && event.concerns(reads.entities)
            case .edits(let context), .layer(let context):
                reads.parents.contains(context) && event.concerns(reads.entities)
            }
        }
    }
}
