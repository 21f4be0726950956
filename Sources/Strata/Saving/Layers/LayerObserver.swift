import Synchronization

/// Waits for events that may change the result of a query in one context.
///
/// Isolation: any; used by one iterator.
final class LayerObserver: Sendable {
    private struct State {
        /// The last event that the result reflects; nil before the first result.
        var cursor: Int?
        /// The entities that the result was read from.
        var entities: Set<Int> = []
    }

    /// The key of this observer among the contexts for which events are kept. Observers have negative ids, contexts
    /// positive ones.
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

    /// Records the last event that the next result reflects.
    func note(_ cursor: Int) { state.withLock { $0.cursor = cursor } }

    /// Discards the position after a failed query, so that the next call queries again.
    func forget() { state.withLock { $0.cursor = nil } }

    /// Records the entities that the result was read from.
    func note(_ entities: Set<Int>) { state.withLock { $0.entities = entities } }

    /// Waits until the result may have changed. False if no further change can come, because the task is cancelled or
    /// the store or the context is closed.
    ///
    /// - Throws: the error that prevents reading the commits of other processes.
    nonisolated(nonsending) func wait() async throws -> Bool {
        while !Task.isCancelled, layers.isOpen(context) {
            let known = state.withLock { $0 }
            guard let cursor = known.cursor else { return true }
            guard let last = layers.concerns(context, known.entities, after: cursor) else { return true }
            state.withLock { $0.cursor = last }
            layers.track(id, cursor: last)
            if let failure = layers.state.withLock({ $0.failure }) { throw failure }
            await layers.waitForEvent(after: last)
        }
        return false
    }
}

extension LayerRegistry {
    /// Whether a context exists (nil: the store), and the store is not closed.
    func isOpen(_ context: Int?) -> Bool {
        state.withLock { !$0.isFinished && (context.map($0.layers.contexts.contains) ?? true) }
    }

    /// Checks whether events after a given event may affect what a context shows of some entities. Nil if they may;
    /// otherwise the last event.
    func concerns(_ context: Int?, _ entities: Set<Int>, after cursor: Int) -> Int? {
        state.withLock { state in
            if state.lastEvent == cursor { return cursor }
            guard let events = state.events(after: cursor) else { return nil }
            let path = context.map { state.layers.readPath(to: $0) } ?? []
            let isConcerned = events.contains { event in
                switch event.cause {
                case .edits(let changed), .layer(let changed): if !path.contains(changed) { return false }
                case .commit: break
                }
                guard let unread = event.unread else { return true }
                return !entities.isDisjoint(with: event.parts.keys) || !entities.isDisjoint(with: unread.keys)
            }
            return isConcerned ? nil : state.lastEvent
        }
    }

    /// Waits for an event, a failure, or the end.
    nonisolated(nonsending) func waitForEvent(after event: Int) async {
        await CancellableWait.wait { number, waiter in
            state.withLock { state in
                if state.lastEvent > event || state.isFinished || state.failure != nil || Task.isCancelled {
                    return false
                }
                state.waiters[number] = waiter
                return true
            }
        } remove: { number in
            state.withLock { $0.waiters.removeValue(forKey: number) }
        }
    }

    /// Records whether the commits of other processes can be read. If they cannot, every wait for commits ends with the
    /// error. Contexts that merge immediately then read the store and report the error.
    func note(failure: StrataError?) {
        let isNew = state.withLock { state in
            defer { state.failure = failure }
            if failure != nil { state.wakeWaiters() }
            return failure != nil && state.failure == nil
        }
        hub.note(failure: failure)
        if isNew { tellAllWatchers() }
    }

    /// Ends all waits, because the store is closed and no further events will come.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.wakeWaiters()
        }
        hub.finish()
    }
}
