import Synchronization

/// Waits for events that may change the result of a query, or the value of a block, in one context.
///
/// Isolation: any; used by one iterator.
final class LayerObserver: Sendable {
    private struct State {
        /// The position in the log that the result reflects; nil before the first result.
        var cursor: CommitLog.Cursor?
        /// The number of the result, among all results of the observer.
        var number = 0
        /// The entities that the result was read from.
        var entities: Set<Int> = []
    }

    /// The key of this observer among the readers of the log. Observers have negative ids, contexts positive ones.
    let id: Int
    /// The context whose view is observed; nil for the committed state of the store.
    let context: Int?
    private let layers: LayerRegistry
    private let state = Mutex(State())
    private static let lastID = Atomic(0)

    init(_ layers: LayerRegistry, of context: Int?) {
        self.layers = layers
        self.context = context
        id = Self.lastID.subtract(1, ordering: .relaxed).newValue
    }

    deinit { layers.track(id, cursor: nil) }

    /// Records the position in the log that the result reflects.
    func note(_ cursor: CommitLog.Cursor) { state.withLock { $0.cursor = cursor } }

    /// Moves to a snapshot, from which the next result is read.
    ///
    /// - Parameter last: the number of the result that is to be renewed; nil for none.
    /// - Returns: the number of the next result, and the events since the last one. The events include commits that the
    ///   log does not contain yet. They are nil if there is no last result, if another one was read since, or if some
    ///   of the events are forgotten.
    func advance(
        from last: Int?,
        to matched: LayerRegistry.MatchedLayers
    ) -> (number: Int, events: [CommitLog.Event]?) {
        let (number, cursor) = state.withLock { state in
            let cursor = state.number == last ? state.cursor : nil
            state.cursor = matched.cursor
            state.number += 1
            return (state.number, cursor)
        }
        return (number, cursor.flatMap { layers.events(after: $0.event, through: matched) })
    }

    /// Discards the position after a failed query, so that the next call queries again.
    func forget() { state.withLock { $0.cursor = nil } }

    /// Records the entities that the result was read from.
    func note(_ entities: Set<Int>) { state.withLock { $0.entities = entities } }

    /// Records what a block has read. Its context must not have ended, because the log keeps the events since its
    /// snapshot for the context.
    func observe(_ reads: ContextReadSet) {
        note(reads.cursor)
        note(reads.entities)
        layers.track(id, cursor: reads.cursor.event)
    }

    /// Waits until the result may have changed. False if no further change can come, because the task is cancelled or
    /// the store or the context is closed.
    ///
    /// - Throws: the error that prevents reading the commits of other processes.
    nonisolated(nonsending) func wait() async throws -> Bool {
        while !Task.isCancelled, layers.isOpen(context) {
            let known = state.withLock { $0 }
            guard let cursor = known.cursor else { return true }
            guard let end = layers.concerns(context, known.entities, after: cursor) else { return true }
            note(end)
            layers.track(id, cursor: end.event)
            if let failure = layers.state.withLock({ $0.log.failure }) { throw failure }
            await layers.wait(for: .event(after: end.event, in: context))
        }
        return false
    }
}

extension LayerRegistry {
    /// Checks whether events after a position may affect what a context shows of some entities. Nil if they may;
    /// otherwise the end of the log.
    ///
    /// The snapshot at the position may already contain the next commits, whose events come later. For the committed
    /// state, these events are not news. For a context, they may have changed its layers.
    func concerns(_ context: Int?, _ entities: Set<Int>, after cursor: CommitLog.Cursor) -> CommitLog.Cursor? {
        state.withLock { state in
            guard let events = state.log.events(after: cursor.event) else { return nil }
            var end = state.log.end
            end.sequence = max(end.sequence, cursor.sequence)
            if events.isEmpty { return end }
            let path = context.map { state.layers.readPath(to: $0) } ?? []
            let isConcerned = events.contains { event in
                switch event.cause {
                case .edits(let changed), .layer(let changed): path.contains(changed) && event.concerns(entities)
                case .commit(let number, _, _):
                    (context != nil || number > cursor.sequence) && event.concerns(entities)
                }
            }
            return isConcerned ? nil : end
        }
    }
}
