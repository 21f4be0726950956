/// The edits of one entity's objects in a context that hooks have and have not yet handled.
struct HookState {
    /// The rows that were edited since their hooks were last called.
    var edited: Set<Int64> = []
    /// The rows whose insert hook was called and whose insert is not saved.
    var inserted: Set<Int64> = []
}

/// The objects of a context whose hooks are due or running.
struct HookQueue {
    /// Whether any model has a hook that runs after a fetch.
    let hasFetchHooks: Bool
    /// The edits that hooks must handle before the next save, by entity; only for entities with such hooks.
    var states: [Int: HookState] = [:]
    /// The objects whose hook before a delete is running.
    private var deleting: Set<Int64> = []
    /// The fetched objects whose hook is still due, and while hooks run, also those whose hook has run.
    private var fetched: [(object: AnyObject, entity: Int)] = []
    /// The index of the next fetched object while hooks after a fetch run; otherwise nil.
    private var nextFetched: Int?

    init(hasFetchHooks: Bool) { self.hasFetchHooks = hasFetchHooks }

    /// Records edited rows. The next save calls the hooks of their objects.
    mutating func noteEdited(_ ids: [Int64], entity: Int) {
        states[entity, default: HookState()].edited.formUnion(ids)
    }

    /// Begins the hook before an object's delete. Returns false if this hook is already running.
    mutating func beginDelete(_ number: Int64) -> Bool { deleting.insert(number).inserted }

    mutating func endDelete(_ number: Int64) { deleting.remove(number) }

    /// Records an object that was created from a row.
    mutating func noteFetched(_ object: AnyObject, entity: Int) { fetched.append((object, entity)) }

    /// Begins to run hooks after a fetch. Returns false if they are already running, or if no hook is due.
    mutating func beginFetchHooks() -> Bool {
        guard nextFetched == nil, !fetched.isEmpty else { return false }
        nextFetched = 0
        return true
    }

    /// The next object whose hook after a fetch is due; nil if there are no more.
    mutating func takeFetched() -> (object: AnyObject, entity: Int)? {
        guard let index = nextFetched, index < fetched.count else { return nil }
        nextFetched = index + 1
        return fetched[index]
    }

    /// Ends the hooks after a fetch. Returns their objects, so that the caller releases them.
    mutating func endFetchHooks() -> [(object: AnyObject, entity: Int)] {
        let done = fetched
        (fetched, nextFetched) = ([], nil)
        return done
    }
}
