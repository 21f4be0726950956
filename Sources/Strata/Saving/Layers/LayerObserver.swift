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

    /// The position that a result reflects; nil if it is not the last one, or if the query must run again.
    ///
    /// - Parameter number: the number of the result.
    func cursor(of number: Int) -> CommitLog.Cursor? { state.withLock { $0.number == number ? $0.cursor : nil } }

    /// Records a new result: the position that it reflects, and the entities that it was read from.
    ///
    /// - Returns: the number of the result.
    func noteResult(at cursor: CommitLog.Cursor, of entities: Set<Int>) -> Int {
        state.withLock { state in
            (state.cursor, state.entities) = (cursor, entities)
            state.number += 1
            return state.number
        }
    }

    /// Discards the position after a failed query, so that the next call queries again.
    func forget() { state.withLock { $0.cursor = nil } }

    /// Records what a block has read. Its context must not have ended, because the log keeps the events since its
    /// snapshot for the context.
    func observe(_ reads: ContextReadSet) {
        state.withLock { ($0.cursor, $0.entities) = (reads.cursor, reads.entities) }
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
            state.withLock { $0.cursor = end }
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
                if case .commit(let number, _, _) = event.cause, context == nil, number <= cursor.sequence {
                    return false
                }
                return event.isVisible(in: path) && event.concerns(entities)
            }
            return isConcerned ? nil : end
        }
    }
}
