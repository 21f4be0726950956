import Synchronization

/// The published layers of a stack behind a mutex, together with how far the store has come.
///
/// Isolation: any. The lock is held for work in memory only, except where commits of another process are taken in.
final class LayerStore: Sendable {
    struct State: Sendable {
        var layers = Layers()
        /// The number of the last commit that the layers know of. Readers of an older snapshot begin anew (H15).
        var sequence: Int64
        /// The commit that is being written to disk.
        var inFlight: CommitRecord?
        /// How many commits under way hold a segment in place.
        var frozen: [Int: Int] = [:]
        /// What happened, for contexts that have not yet taken it over, oldest first.
        var events: [Event] = []
        var lastEvent = 0
        /// The last event that each context has taken over.
        var cursors: [Int: Int] = [:]
    }

    /// A reason to look at some live objects again.
    struct Event: Sendable {
        enum Cause: Sendable {
            /// The layer of this context changed.
            case layer(Int)
            case commit(CommitRecord)
        }

        let number: Int
        let cause: Cause
        /// The rows concerned, by entity.
        let parts: [Int: any AnyPart]
        let rowCount: Int
    }

    /// Contexts that have fallen further behind than so many events or rows look at all of their objects.
    static let eventLimit = 4096
    static let rowLimit = 200_000

    let state: Mutex<State>
    private let watcher = Mutex<(context: Int, tell: @Sendable () -> Void)?>(nil)

    init(sequence: Int64) { state = Mutex(State(sequence: sequence)) }

    func add(context: Int, parent: Int?, committedOnly: Bool) {
        state.withLock { $0.layers.add(context: context, parent: parent, committedOnly: committedOnly) }
    }

    /// Has the main context told when something changes that its live objects may show.
    func watch(_ context: Int, _ tell: @escaping @Sendable () -> Void) {
        watcher.withLock { $0 = (context, tell) }
    }

    func tellWatcher(of change: Int?) {
        guard let (context, tell) = watcher.withLock({ $0 }), context != change else { return }
        let isLive = state.withLock { state in state.cursors[context].map { $0 < state.lastEvent } ?? false }
        if isLive { tell() }
    }

    func remove(context: Int) {
        state.withLock { state in
            state.layers.remove(context: context)
            state.cursors[context] = nil
        }
    }
}

extension LayerStore.State {
    /// Records that rows have changed, unless nobody is there to hear of it.
    mutating func note(_ cause: LayerStore.Event.Cause, _ parts: [Int: any AnyPart]) {
        lastEvent += 1
        guard !cursors.isEmpty else {
            events.removeAll()
            return
        }
        let count = parts.values.reduce(0) { $0 + $1.numbers.count }
        events.append(LayerStore.Event(number: lastEvent, cause: cause, parts: parts, rowCount: count))
        trimEvents()
    }

    /// Forgets events that every context has taken over, and the oldest where there are too many.
    mutating func trimEvents() {
        let least = cursors.values.min() ?? lastEvent
        var rows = events.reduce(0) { $0 + $1.rowCount }
        var excess = 0
        while excess < events.count,
            events[excess].number <= least || events.count - excess > LayerStore.eventLimit
                || (rows > LayerStore.rowLimit && excess < events.count - 1)
        {
            rows -= events[excess].rowCount
            excess += 1
        }
        if excess > 0 { events.removeFirst(excess) }
    }

    /// What has come beneath a context's layer after an event.
    func news(for context: Int, after cursor: Int) -> [LayerStore.Event] {
        let beneath = layers.readPath(to: context).dropLast()
        return events.reversed().prefix { $0.number > cursor }.filter { event in
            switch event.cause {
            case .layer(let changed): beneath.contains(changed)
            case .commit: true
            }
        }.reversed()
    }

    /// The events that a context has not taken over, or nil where some of them are forgotten.
    func events(after cursor: Int) -> ArraySlice<LayerStore.Event>? {
        if cursor == lastEvent { return [] }
        guard let first = events.first, first.number <= cursor + 1 else { return nil }
        return events[(cursor + 1 - first.number)...]
    }
}
