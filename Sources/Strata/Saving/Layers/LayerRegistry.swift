import Synchronization

/// The published layers of a stack, protected by a mutex, and the sequence number that the store has reached.
///
/// Isolation: any. The lock is held for work in memory only, except when commits of another process are applied.
final class LayerRegistry: Sendable {
    struct State: Sendable {
        var layers = LayerSnapshot()
        /// The number of the last commit that the layers know. A reader with an older snapshot starts again.
        var sequence: Int64
        /// The commit that is being written to disk.
        var inFlight: CommitRecord?
        /// The number of running commits that hold a segment in place.
        var frozen: [Int: Int] = [:]
        /// The number of running commits that have read a segment of a parent, and may include some of its rows.
        var read: [Int: Int] = [:]

        /// The segments from which nothing is removed.
        var taken: Set<Int> { Set(frozen.keys) }
        /// The segments that are not merged with others.
        var fixed: Set<Int> { read.isEmpty ? taken : taken.union(read.keys) }
        /// The events that some context has not processed yet, oldest first.
        var events: [Event] = []
        /// The number of rows in these events.
        var eventRows = 0
        var lastEvent = 0
        /// The last event that each context has processed.
        var cursors: [Int: Int] = [:]
        /// The waits for the next event.
        var waiters: [Int: CancellableWait.Waiter] = [:]
        /// Whether the store is closed.
        var isFinished = false
        /// The reason why commits of other processes cannot be read; nil if they can.
        var failure: StrataError?

        /// Ends all waits, so that the waiting tasks check the state themselves.
        mutating func wakeWaiters() {
            for waiter in waiters.values { waiter.resume() }
            waiters.removeAll()
        }
    }

    /// A reason to refresh some live objects.
    struct Event: Sendable {
        enum Cause: Sendable {
            /// This context has edited objects, and already shows the edits.
            case edits(Int)
            /// Another context has changed the layer of this context, or changes were removed from it.
            case layer(Int)
            /// The store has reached this number by a commit of one context, which took the layers of some contexts as
            /// a whole. The context is nil for commits of other processes, which were found in the file.
            case commit(Int64, by: Int?, taking: Set<Int>)
        }

        let number: Int
        let cause: Cause
        /// The affected rows, by entity.
        private(set) var parts: [Int: any AnyRowChanges]
        /// For a commit, the rows whose result differs from the committing context's version.
        private(set) var rewritten: [Int: any AnyRowChanges] = [:]
        private(set) var rowCount: Int
        /// False if rows other than these are affected, too.
        private(set) var isComplete = true
        /// Affected rows that are not among `parts`; nil if they are not known, so that live objects must check
        /// themselves.
        private(set) var unread: [Int: IDRanges]? = [:]

        init(number: Int, _ cause: Cause, _ parts: [Int: any AnyRowChanges]) {
            self.number = number
            self.cause = cause
            self.parts = parts
            rowCount = parts.values.reduce(0) { $0 + $1.ids.count }
        }

        init(number: Int, commit record: CommitRecord) {
            self.init(
                number: number,
                .commit(record.sequence, by: record.committer, taking: record.included),
                record.rows
            )
            rewritten = record.rewritten
            isComplete = record.isComplete
            unread = record.isComplete ? [:] : record.unread
        }

        /// Releases the rows, but keeps the event.
        mutating func forgetRows() {
            (parts, rewritten, rowCount, isComplete, unread) = ([:], [:], 0, false, nil)
        }
    }

    /// The number of events that are kept. A context that has missed more events, or more rows than ``rowLimit``, looks
    /// at all of its objects.
    static let eventLimit = 4096
    static let rowLimit = 200_000

    let state: Mutex<State>
    /// The observers of the commits.
    let hub: ChangeHub
    private let watchers = Mutex<[Int: @Sendable () -> Void]>([:])
    /// Whether there are watchers. Most stacks of a service have none.
    private let isWatched = Atomic(false)

    init(sequence: Int64) {
        state = Mutex(State(sequence: sequence))
        hub = ChangeHub(sequence: sequence)
    }

    /// The number of the newest commit that the layers know.
    var newestSequence: Int64 { state.withLock { $0.sequence } }

    func add(context: Int, parent: Int?, committedOnly: Bool) {
        state.withLock { $0.layers.add(context: context, parent: parent, committedOnly: committedOnly) }
    }

    /// Notifies a context of changes that its live objects may show.
    func watch(_ context: Int, _ tell: @escaping @Sendable () -> Void) {
        watchers.withLock { $0[context] = tell }
        isWatched.store(true, ordering: .releasing)
    }

    /// Notifies the contexts that merge at once, except the one that has made the change.
    func notifyWatchers(of change: Int?) {
        guard isWatched.load(ordering: .acquiring) else { return }
        let others = watchers.withLock { $0.filter { $0.key != change } }
        guard !others.isEmpty else { return }
        let behind = state.withLock { state in
            others.filter { context, _ in state.cursors[context].map { $0 < state.lastEvent } ?? false }
        }
        for tell in behind.values { tell() }
    }

    /// Notifies all contexts that merge at once.
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

extension LayerRegistry.State {
    /// Records that rows of a layer have changed, unless no context needs to know.
    mutating func recordEvent(_ cause: LayerRegistry.Event.Cause, _ parts: [Int: any AnyRowChanges]) {
        recordEvent { LayerRegistry.Event(number: $0, cause, parts) }
    }

    /// Records a commit.
    mutating func recordEvent(_ record: CommitRecord) {
        recordEvent { LayerRegistry.Event(number: $0, commit: record) }
    }

    private mutating func recordEvent(_ event: (Int) -> LayerRegistry.Event) {
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

    /// Forgets events that every context has processed. If there are too many, it forgets the oldest ones or their
    /// rows.
    mutating func trimEvents() {
        guard !events.isEmpty else { return }
        let least = cursors.values.min() ?? lastEvent
        // It removes many at once, since the remaining ones move up.
        var excess = events.count > LayerRegistry.eventLimit ? LayerRegistry.eventLimit / 2 : 0
        while excess < events.count, events[excess].number <= least { excess += 1 }
        if excess > 0 {
            eventRows -= events[..<excess].reduce(0) { $0 + $1.rowCount }
            events.removeFirst(excess)
        }
        guard eventRows > LayerRegistry.rowLimit else { return }
        for index in events.indices.dropLast() where eventRows > LayerRegistry.rowLimit {
            eventRows -= events[index].rowCount
            events[index].forgetRows()
        }
    }

    /// The events after the given one that changed the rows below a context's layer.
    func news(for context: Int, after cursor: Int) -> [LayerRegistry.Event] {
        let beneath = layers.readPath(to: context).dropLast()
        return events.reversed().prefix { $0.number > cursor }.filter { event in
            switch event.cause {
            case .edits(let changed), .layer(let changed): beneath.contains(changed)
            case .commit: true
            }
        }.reversed()
    }

    /// Whether all rows that have changed after an event are known.
    func isKnown(after cursor: Int) -> Bool { events(after: cursor)?.allSatisfy(\.isComplete) ?? false }

    /// The events that a context has not processed yet; nil if some of them are forgotten.
    func events(after cursor: Int) -> ArraySlice<LayerRegistry.Event>? {
        if cursor == lastEvent { return [] }
        guard let first = events.first, first.number <= cursor + 1 else { return nil }
        return events[(cursor + 1 - first.number)...]
    }
}
