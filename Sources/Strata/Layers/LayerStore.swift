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
        /// How many savepoints tell what comes later from a segment, which so is not merged with others.
        var held: [Int: Int] = [:]
        /// The same of commits under way, which have read these segments and may take something of them along.
        var read: [Int: Int] = [:]

        /// Those held by savepoints of which a save has left nothing: all of it was given up, or was deletes that were overruled.
        var emptied: Set<Int> = []

        /// Deletes in held segments that a context's saves have overruled, by the context, the segment and the entity.
        var overruled: [Int: [Int: [Int: Set<Int64>]]] = [:]
        /// Rows that commits have taken along out of layers while savepoints were open, by entity, with the count of segments by then.
        var takenAlong: [Int: [Int64: Int]] = [:]

        /// The segments of which nothing is taken out.
        var taken: Set<Int> { held.isEmpty ? Set(frozen.keys) : Set(frozen.keys).union(held.keys) }
        /// The segments that are not merged with others.
        var fixed: Set<Int> { read.isEmpty ? taken : taken.union(read.keys) }
        /// What happened, for contexts that have not yet taken it over, oldest first.
        var events: [Event] = []
        /// How many rows these name.
        var eventRows = 0
        var lastEvent = 0
        /// The last event that each context has taken over.
        var cursors: [Int: Int] = [:]
        /// Those who wait for the next event.
        var waiters: [Int: CancellableWait.Waiter] = [:]
        /// Whether the store is closed.
        var isFinished = false
        /// Why commits of other processes cannot be taken in; nil while they can.
        var failure: StrataError?

        /// Lets those who wait look for themselves.
        mutating func wakeWaiters() {
            for waiter in waiters.values { waiter.resume() }
            waiters.removeAll()
        }
    }

    /// A reason to look at some live objects again.
    struct Event: Sendable {
        enum Cause: Sendable {
            /// This context has edited objects, and shows them so already.
            case edits(Int)
            /// Somebody else has changed the layer of this context, or changes were taken out of it.
            case layer(Int)
            /// The store has reached this number, by a commit of one context that took the layers of some as a whole; by
            /// none where it is a commit of others, which was found in the file.
            case commit(Int64, by: Int?, taking: Set<Int>)
        }

        let number: Int
        let cause: Cause
        /// The rows concerned, by entity.
        private(set) var parts: [Int: any AnyPart]
        /// Of a commit, those that came out otherwise than its context had them.
        private(set) var adjusted: [Int: any AnyPart] = [:]
        private(set) var rowCount: Int
        /// False where there are more rows concerned than these.
        private(set) var isComplete = true
        /// Rows concerned that are not among `parts`; nil where it is not known which, so that live objects have to look for
        /// themselves.
        private(set) var unread: [Int: NumberRuns]? = [:]

        init(number: Int, _ cause: Cause, _ parts: [Int: any AnyPart]) {
            self.number = number
            self.cause = cause
            self.parts = parts
            rowCount = parts.values.reduce(0) { $0 + $1.numbers.count }
        }

        init(number: Int, commit record: CommitRecord) {
            self.init(
                number: number,
                .commit(record.sequence, by: record.committer, taking: record.included),
                record.rows
            )
            adjusted = record.adjusted
            isComplete = record.isComplete
            unread = record.isComplete ? [:] : record.unread
        }

        /// Lets go of the rows, and keeps what has happened.
        mutating func forgetRows() {
            (parts, adjusted, rowCount, isComplete, unread) = ([:], [:], 0, false, nil)
        }
    }

    /// Contexts that have fallen further behind than so many events or rows look at all of their objects.
    static let eventLimit = 4096
    static let rowLimit = 200_000

    let state: Mutex<State>
    /// Those who follow the commits.
    let hub: ChangeHub
    private let watchers = Mutex<[Int: @Sendable () -> Void]>([:])
    /// Whether there are any; most stacks of a service have none.
    private let isWatched = Atomic(false)

    init(sequence: Int64) {
        state = Mutex(State(sequence: sequence))
        hub = ChangeHub(sequence: sequence)
    }

    /// The number of the newest commit that the layers know of.
    var newestSequence: Int64 { state.withLock { $0.sequence } }

    func add(context: Int, parent: Int?, committedOnly: Bool) {
        state.withLock { $0.layers.add(context: context, parent: parent, committedOnly: committedOnly) }
    }

    /// Has a context told when something changes that its live objects may show.
    func watch(_ context: Int, _ tell: @escaping @Sendable () -> Void) {
        watchers.withLock { $0[context] = tell }
        isWatched.store(true, ordering: .releasing)
    }

    /// Tells the contexts that merge at once, but not the one that has made the change.
    func tellWatchers(of change: Int?) {
        guard isWatched.load(ordering: .acquiring) else { return }
        let others = watchers.withLock { $0.filter { $0.key != change } }
        guard !others.isEmpty else { return }
        let behind = state.withLock { state in
            others.filter { context, _ in state.cursors[context].map { $0 < state.lastEvent } ?? false }
        }
        for tell in behind.values { tell() }
    }

    /// Tells all contexts that merge at once.
    func tellAllWatchers() {
        for tell in watchers.withLock({ Array($0.values) }) { tell() }
    }

    func remove(context: Int) {
        state.withLock { state in
            state.layers.remove(context: context)
            state.cursors[context] = nil
            state.wakeWaiters()
        }
        if isWatched.load(ordering: .acquiring) { watchers.withLock { _ = $0.removeValue(forKey: context) } }
    }
}

extension LayerStore.State {
    /// Records that rows of a layer have changed, unless nobody is there to hear of it.
    mutating func note(_ cause: LayerStore.Event.Cause, _ parts: [Int: any AnyPart]) {
        note { LayerStore.Event(number: $0, cause, parts) }
    }

    /// Records a commit.
    mutating func note(_ record: CommitRecord) {
        note { LayerStore.Event(number: $0, commit: record) }
    }

    private mutating func note(_ event: (Int) -> LayerStore.Event) {
        lastEvent += 1
        if !waiters.isEmpty { wakeWaiters() }
        guard !cursors.isEmpty else {
            events.removeAll()
            eventRows = 0
            return
        }
        let event = event(lastEvent)
        events.append(event)
        eventRows += event.rowCount
        trimEvents()
    }

    /// Forgets events that every context has taken over, and where there are too many, the oldest or their rows.
    mutating func trimEvents() {
        guard !events.isEmpty else { return }
        let least = cursors.values.min() ?? lastEvent
        // Many at once, since those that are left move up.
        var excess = events.count > LayerStore.eventLimit ? LayerStore.eventLimit / 2 : 0
        while excess < events.count, events[excess].number <= least { excess += 1 }
        if excess > 0 {
            eventRows -= events[..<excess].reduce(0) { $0 + $1.rowCount }
            events.removeFirst(excess)
        }
        guard eventRows > LayerStore.rowLimit else { return }
        for index in events.indices.dropLast() where eventRows > LayerStore.rowLimit {
            eventRows -= events[index].rowCount
            events[index].forgetRows()
        }
    }

    /// What has come beneath a context's layer after an event.
    func news(for context: Int, after cursor: Int) -> [LayerStore.Event] {
        let beneath = layers.readPath(to: context).dropLast()
        return events.reversed().prefix { $0.number > cursor }.filter { event in
            switch event.cause {
            case .edits(let changed), .layer(let changed): beneath.contains(changed)
            case .commit: true
            }
        }.reversed()
    }

    /// Whether all rows are known that have changed after an event.
    func isKnown(after cursor: Int) -> Bool { events(after: cursor)?.allSatisfy(\.isComplete) ?? false }

    /// The events that a context has not taken over, or nil where some of them are forgotten.
    func events(after cursor: Int) -> ArraySlice<LayerStore.Event>? {
        if cursor == lastEvent { return [] }
        guard let first = events.first, first.number <= cursor + 1 else { return nil }
        return events[(cursor + 1 - first.number)...]
    }
}
