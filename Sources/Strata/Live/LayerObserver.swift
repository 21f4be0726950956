import Synchronization

/// Waits for what concerns the answer of a query in one context.
///
/// Isolation: any; used by one iterator.
final class LayerObserver: Sendable {
    private struct State {
        /// The last event that the answer contains; nil before the first one.
        var cursor: Int?
        /// The entities that the answer was made of.
        var entities: Set<Int> = []
    }

    /// Stands for this observer among the contexts that have events kept for them, whose ids are positive.
    let id: Int
    /// The context whose view is observed; nil for the store's.
    let context: Int?
    private let layers: LayerStore
    private let state = Mutex(State())
    private static let lastID = Atomic(0)

    init(_ layers: LayerStore, of context: Int?) {
        self.layers = layers
        self.context = context
        id = Self.lastID.subtract(1, ordering: .relaxed).newValue
    }

    deinit { layers.track(id, cursor: nil) }

    /// Notes the last event that the next answer contains.
    func note(_ cursor: Int) { state.withLock { $0.cursor = cursor } }

    /// There was no answer: the next one is to be made anew.
    func forget() { state.withLock { $0.cursor = nil } }

    /// Notes what the answer was made of.
    func note(_ entities: Set<Int>) { state.withLock { $0.entities = entities } }

    /// Waits until the answer may be another. False where there will be none any more.
    ///
    /// - Throws: what keeps commits of other processes from being taken in.
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

extension LayerStore {
    /// Whether a context is there (nil: the store), and the store not closed.
    func isOpen(_ context: Int?) -> Bool {
        state.withLock { !$0.isFinished && (context.map($0.layers.contexts.contains) ?? true) }
    }

    /// Whether what has happened after an event may concern what a context shows of some entities. Nil where it does; else the
    /// last event.
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

    /// Notes whether commits of other processes can be taken in. If they cannot, everything that waits for commits ends with the error,
    /// and contexts that merge at once look at the store and report it.
    func note(failure: StrataError?) {
        let isNew = state.withLock { state in
            defer { state.failure = failure }
            if failure != nil { state.wakeWaiters() }
            return failure != nil && state.failure == nil
        }
        hub.note(failure: failure)
        if isNew { tellAllWatchers() }
    }

    /// The store is closed: nothing will happen any more.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.wakeWaiters()
        }
        hub.finish()
    }
}
