extension CommitLog {
    /// The readers that are woken when the log grows: tasks, contexts that merge at once, and engines.
    ///
    /// Under the lock, this type only decides which readers to wake. ``Wakes/run()`` wakes them after the lock is
    /// released. So neither tasks nor code of contexts and engines run under the lock.
    struct Subscribers: Sendable {
        /// The tasks that wait for an event or a commit.
        var tasks: [Int: Waiter] = [:]
        /// The contexts that merge at once, with the functions that schedule their refresh.
        var contexts: [Int: Refresh] = [:]
        /// The functions of engines that are called at each commit.
        private(set) var listeners: [Int: Listener] = [:]
        private var lastListener = 0
        /// The last event whose readers were woken.
        private var wokenThrough = 0
        /// The wake-ups that are due, besides those for the events after ``wokenThrough``.
        private var due = Wakes()
    }

    /// Schedules the refresh of a context.
    typealias Refresh = @Sendable () -> Void

    /// A function that is called at each commit. It must only record the commit and return.
    ///
    /// Its argument is the change sets of the new commits, in order; nil if they are not known.
    typealias Listener = @Sendable ([ChangeSet]?) -> Void

    /// A waiting task.
    struct Waiter: Sendable {
        let awaited: Awaited
        let task: CancellableWait.Waiter
    }

    /// The reason for which a task waits.
    enum Awaited: Sendable {
        /// An event after this one, or the end of the context (nil: the store).
        case event(after: Int, in: Int?)
        /// A commit after this one.
        case commit(after: Int64)

        /// Whether the awaited event or commit is in the log.
        func isReached(at end: Cursor) -> Bool {
            switch self {
            case .event(let event, _): end.event > event
            case .commit(let sequence): end.sequence > sequence
            }
        }
    }

    /// The readers to wake.
    struct Wakes: Sendable {
        var tasks: [CancellableWait.Waiter] = []
        var contexts: [Refresh] = []
        /// The change sets of new commits, for each of the listeners.
        var news: [[ChangeSet]?] = []
        var listeners: [Listener] = []

        var isEmpty: Bool { tasks.isEmpty && contexts.isEmpty && news.isEmpty }

        /// Wakes the readers. Must not be called under the lock.
        func run() {
            for task in tasks { task.resume() }
            for changes in news {
                for listener in listeners { listener(changes) }
            }
            for refresh in contexts { refresh() }
        }
    }
}

extension CommitLog.Subscribers {
    /// Adds a listener and returns its number.
    mutating func add(_ listener: @escaping CommitLog.Listener) -> Int {
        lastListener += 1
        listeners[lastListener] = listener
        return lastListener
    }

    /// Removes and returns a listener. The caller releases it after the lock, because it may hold the last reference to
    /// an object.
    mutating func removeListener(_ number: Int) -> CommitLog.Listener? { listeners.removeValue(forKey: number) }

    /// Notes that the listeners must be called. The argument is theirs.
    mutating func notifyListeners(_ news: [ChangeSet]?) {
        if !listeners.isEmpty { due.news.append(news) }
    }

    /// Removes and returns the wake-ups that are due.
    ///
    /// - Parameters:
    ///   - end: the end of the log.
    ///   - cursors: the last events that the contexts have processed.
    ///   - context: the context that has changed the log, and is not woken; nil if no context has changed it.
    mutating func takeWakes(
        at end: CommitLog.Cursor,
        _ cursors: [Int: Int],
        except context: Int?
    ) -> CommitLog.Wakes {
        if wokenThrough != end.event {
            wokenThrough = end.event
            if !tasks.isEmpty { wakeTasks { $0.isReached(at: end) } }
            for (id, refresh) in contexts where id != context {
                if let cursor = cursors[id], cursor < end.event { due.contexts.append(refresh) }
            }
        }
        if due.isEmpty { return CommitLog.Wakes() }
        var wakes = due
        due = CommitLog.Wakes()
        if !wakes.news.isEmpty { wakes.listeners = Array(listeners.values) }
        return wakes
    }

    /// Removes a context that has ended, and wakes the tasks that wait for its events.
    ///
    /// - Returns: the function that refreshed the context. The caller releases it after the lock, because it may hold
    ///   the last reference to the context.
    mutating func remove(context: Int) -> CommitLog.Refresh? {
        if !tasks.isEmpty {
            wakeTasks { awaited in
                if case .event(_, context) = awaited { true } else { false }
            }
        }
        return contexts.removeValue(forKey: context)
    }

    /// Ends all waits. After a new failure, it also calls all listeners, and refreshes the contexts that merge at once.
    /// These then read the store and report the error.
    mutating func wakeAll(isNewFailure: Bool) {
        wakeTasks { _ in true }
        guard isNewFailure else { return }
        due.contexts += contexts.values
        notifyListeners(nil)
    }

    /// Removes and returns all listeners. The caller releases them after the lock.
    mutating func removeListeners() -> [Int: CommitLog.Listener] {
        defer { listeners.removeAll() }
        return listeners
    }

    private mutating func wakeTasks(_ isDue: (CommitLog.Awaited) -> Bool) {
        for (number, waiter) in tasks where isDue(waiter.awaited) {
            tasks[number] = nil
            due.tasks.append(waiter.task)
        }
    }
}
