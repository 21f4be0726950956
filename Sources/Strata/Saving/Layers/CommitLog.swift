/// The log of a stack: the commits of the store and the changes of the layers above it, in one order, each with its
/// context and its rows.
///
/// Readers ask the log for the changes after their position. The log keeps the entries that some reader still needs:
///
/// - A context with live objects has a ``Cursor``. The log keeps the events after it, within limits. The context looks
///   at the log at its next block. A context that merges at once is woken.
/// - A live query has a cursor too (``LayerObserver``). Its task is woken.
/// - A check for stale reads uses the cursor of its context. It looks during the commit. The check of a block that has
///   thrown (``FailedReads``) looks after the context has ended, and has a ``LayerObserver``.
/// - A sequence of changes has the number of a commit. The log keeps the newest change sets, and the history in the
///   store has the older ones. Its task is woken.
/// - An engine has no position. Its listener receives the change sets of each commit.
///
/// The log is a part of ``LayerRegistry/State``, because an event and the change of a layer must be visible together.
/// ``LayerRegistry/update(by:_:)`` changes both, and wakes the readers after the lock is released.
struct CommitLog: Sendable {
    /// A position in the log.
    struct Cursor: Sendable {
        /// The number of the last event before the position.
        var event = 0
        /// The number of the last commit before the position.
        var sequence: Int64 = 0
    }

    /// The number of events that are kept. A context that has missed more events, or more rows than ``rowLimit``, looks
    /// at all of its objects.
    static let eventLimit = 4096
    static let rowLimit = 200_000

    /// The end of the log.
    private(set) var end: Cursor
    /// The events that some reader has not processed yet, oldest first. Their numbers have no gaps.
    private(set) var events: [Event] = []
    /// The number of rows in these events.
    private var rowCount = 0
    /// The last event that each reader has processed, by the id of the context or ``LayerObserver``. Without cursors,
    /// no events are kept.
    private(set) var cursors: [Int: Int] = [:]

    /// The change sets of the newest commits.
    var changeSets = ChangeSets()
    /// The readers that are woken when the log grows.
    var subscribers = Subscribers()
    /// Whether the store is closed.
    private(set) var isFinished = false
    /// The reason why commits of other processes cannot be read; nil if they can.
    private(set) var failure: StrataError?

    init(sequence: Int64) { end = Cursor(sequence: sequence) }

    // MARK: Recording

    /// Records that rows of a layer have changed.
    mutating func record(_ cause: Event.Cause, _ parts: [Int: any AnyRowChanges]) {
        append { Event(number: $0, cause, parts) }
    }

    /// Records a commit, or several commits that were found in the file.
    mutating func record(_ commit: CommitRecord) {
        changeSets.keep(commit.changes)
        subscribers.notifyListeners(commit.changes.map { [$0] })
        end.sequence = commit.sequence
        append { Event(number: $0, commit: commit) }
    }

    /// Notes whether commits of other processes can be read. A failure ends all waits.
    mutating func note(_ failure: StrataError?) {
        let isNewFailure = failure != nil && self.failure == nil
        self.failure = failure
        if failure != nil { subscribers.wakeAll(isNewFailure: isNewFailure) }
    }

    /// Ends all waits, because the store is closed and nothing more will happen.
    ///
    /// - Returns: the listeners, which the caller releases after the lock.
    mutating func finish() -> [Int: Listener] {
        isFinished = true
        changeSets.removeAll()
        subscribers.wakeAll(isNewFailure: false)
        return subscribers.removeListeners()
    }

    /// Keeps the event only if a reader will look at it.
    private mutating func append(_ event: (Int) -> Event) {
        end.event += 1
        guard !cursors.isEmpty else {
            events.removeAll()
            rowCount = 0
            return
        }
        let event = event(end.event)
        events.append(event)
        rowCount += event.rowCount
        trim()
    }

    /// Forgets events that every reader has processed. If there are too many, it forgets the oldest ones or their rows.
    private mutating func trim() {
        guard !events.isEmpty else { return }
        let least = cursors.values.min() ?? end.event
        // It removes many at once, since the remaining ones move up.
        var excess = events.count > Self.eventLimit ? Self.eventLimit / 2 : 0
        while excess < events.count, events[excess].number <= least { excess += 1 }
        if excess > 0 {
            rowCount -= events[..<excess].reduce(0) { $0 + $1.rowCount }
            events.removeFirst(excess)
        }
        guard rowCount > Self.rowLimit else { return }
        for index in events.indices.dropLast() where rowCount > Self.rowLimit {
            rowCount -= events[index].rowCount
            events[index].forgetRows()
        }
    }

    // MARK: Readers

    /// The wake-ups that are due: see ``Subscribers/takeWakes(at:_:except:)``.
    mutating func takeWakes(except context: Int?) -> Wakes {
        subscribers.takeWakes(at: end, cursors, except: context)
    }

    /// Forgets a context that has ended: see ``Subscribers/remove(context:)``.
    mutating func remove(context: Int) -> Refresh? {
        track(context, through: nil)
        return subscribers.remove(context: context)
    }

    /// Begins to keep events for a reader, or moves it to the end.
    mutating func startTracking(_ reader: Int) { cursors[reader] = end.event }

    /// Notes the last event that a reader has processed; nil if it does not need events any more.
    mutating func track(_ reader: Int, through event: Int?) {
        cursors[reader] = event
        trim()
    }

    /// The events after the given one; nil if some of them are forgotten.
    func events(after event: Int) -> ArraySlice<Event>? {
        if event == end.event { return [] }
        guard let first = events.first, first.number <= event + 1 else { return nil }
        return events[(event + 1 - first.number)...]
    }

    /// Whether all rows that have changed after an event are known.
    func isKnown(after event: Int) -> Bool { events(after: event)?.allSatisfy(\.isComplete) ?? false }

    /// Whether a context has moved to the end of the log.
    enum Advance: Equatable {
        /// The context is at the last event.
        case moved(to: Int)
        /// The number of events since the context's position. Some of them are not its own.
        case behind(by: Int)
    }

    /// Moves a context to the end of the log if all events after the given one are its own: edits, and the commit if
    /// one is given. The context's objects then show all of them already.
    mutating func advance(_ context: Int, from event: Int, committing sequence: Int64?) -> Advance {
        let behind = Advance.behind(by: end.event - event)
        guard let events = events(after: event) else { return behind }
        let areOwn = events.allSatisfy { event in
            switch event.cause {
            case .edits(let editor): editor == context
            case .layer: false
            case .commit(let number, let committer, _): number == sequence && committer == context
            }
        }
        guard areOwn else { return behind }
        if cursors[context] != nil { track(context, through: end.event) }
        return .moved(to: end.event)
    }
}
