import Foundation

/// A layer of changes over its parent, which is another context or the store. Blocks work with a context.
///
/// A context inserts, finds, changes and deletes objects. Each live object belongs to one context and is not used with
/// another one, see ``Model/in(_:)``. ``save()`` moves changes to the parent, ``commit()`` writes them to the store.
///
/// Isolation: not `Sendable`. A context is available inside blocks, which run on its executor; the main context is also
/// available on the main actor. The `Sendable` reference to a context is its ``handle``.
public final class ObjectContext {
    let store: Store
    let id: Int
    /// The contexts whose layers this context sees above the store, ending with itself.
    let path: [Int]
    let hasParent: Bool
    let reference: HandleReference
    // The following properties are used at every access to a property of an object. All accesses to the properties
    // marked unchecked are short, run on one executor, and call no code that could re-enter. Dynamic exclusivity checks
    // would cost more than the accesses themselves.
    @exclusivity(unchecked) var identity = IdentityMap()
    /// Unpublished edits by entity.
    @exclusivity(unchecked) var trackers: [(any AnyTracker)?]
    /// The snapshot and layers that this context reads from; nil between its blocks.
    @exclusivity(unchecked) var snapshot: ReadSnapshot?
    /// Changes whenever queries of this context may return other results than before.
    @exclusivity(unchecked) var edition = 0
    /// The last event of the layers that the live objects reflect.
    @exclusivity(unchecked) var cursor = 0
    /// The number of the last commit that the live objects show.
    @exclusivity(unchecked) var shownSequence: Int64 = 0
    /// Whether the layer store keeps events until this context has applied them.
    @exclusivity(unchecked) var isTracked = false
    var isSaving = false
    /// The time when the last save began. The save sets timestamps to this time.
    var saveTime = Date.distantPast
    /// The time for the timestamps of inserted rows if they are set at publication; nil except at the start of a save.
    var insertTime: StoredValue?
    /// Whether the running save has no timestamps left to set.
    var isStamped = false
    /// For a pinned context, the revision of its own layer that it shows.
    var ownRevision: Int?
    /// Whether the context keeps showing the state of its first read.
    let isPinned: Bool
    /// Whether the running block has a place among the readers.
    var hasPlace = false
    /// The reads of this context, if its commit is valid only while they are current. Set in a block that an engine
    /// commits.
    var readRecord: ReadRecord?
    /// Whether a save is applying delete rules again.
    var isReapplyingRules = false
    @exclusivity(unchecked) private var isTurnNoted = false
    @exclusivity(unchecked) var isEnded = false
    /// Failed inserts and their errors. The next save retries them and reports those that fail again.
    var failedInserts: [(object: any Model, error: StrataError)] = []
    /// Pending consequences of inserts and deletes; empty except while consequences run.
    var consequences: [(ObjectContext) -> Void] = []

    /// The savepoints that enclose the running code, each with the state before it.
    var savepoints: [Savepoint] = []

    var isInUndoGroup = false
    /// The edits that can be undone.
    var undoHistory = UndoHistory()
    /// The edits that hooks must handle before the next save, by entity; only for entities with such hooks.
    var hookStates: [Int: HookState] = [:]
    /// The objects whose hook before a delete is running.
    var deleting: Set<Int64> = []
    /// The fetched objects whose hook is still due.
    var fetched: [(object: AnyObject, entity: Int)] = []
    var isTellingFetched = false
    /// Whether any model has a hook that runs after a fetch.
    let hasFetchHooks: Bool

    /// The observers of this context's objects; nil if the context is not observable.
    @exclusivity(unchecked) var observers: ContextObservers?

    /// The effects of delete rules for deletes that are not saved, by the number of the deleted object.
    var deleteEffects: [Int64: DeleteEffects] = [:]

    /// How a save or commit handles columns that another context has changed too. The default policy throws.
    public var mergePolicy: MergePolicy

    /// The author of this context's commits in the history. The default is the author with which the stack was opened.
    public var author: String?

    /// Values and objects that are kept from one block of this context to the next.
    public var state = ContextState()

    /// A reference to this context that can be passed between isolation domains.
    public var handle: ContextHandle { reference.resolved }

    init(handle: ContextHandle) {
        store = handle.core.engine
        id = handle.id
        reference = handle.reference
        path = store.layers.state.withLock { $0.layers.readPath(to: handle.id) }
        hasParent = handle.parent != nil
        isPinned = handle.merging == .pinned
        trackers = Array(repeating: nil, count: store.schema.entities.count)
        mergePolicy = handle.core.mergePolicy
        author = handle.core.author
        observers = handle.isObservable ? ContextObservers() : nil
        hasFetchHooks = store.schema.hasFetchHooks
    }

    /// The state that a context reads: a snapshot of the store and the layers above it, at the same moment.
    struct ReadSnapshot {
        let reader: Reader
        let sequence: Int64
        var layers: LayerSnapshot
        /// The relationships that queries have prefetched.
        var prefetched = Prefetched()
    }

    func tracker<Object: Model>(_ model: Object.Type, _ entity: Int) -> ObjectTracker<Object> {
        if let tracker = trackers[entity] { return unsafeDowncast(tracker, to: ObjectTracker<Object>.self) }
        let tracker = ObjectTracker<Object>(store.schema.entities[entity].typed(Object.Row.self), observers)
        trackers[entity] = tracker
        return tracker
    }

    func joinTracker(_ entity: Int) -> JoinTracker {
        if let tracker = trackers[entity] { return unsafeDowncast(tracker, to: JoinTracker.self) }
        let tracker = JoinTracker(entity: entity)
        trackers[entity] = tracker
        return tracker
    }

    /// Whether the context has edits that are not published yet.
    var hasUnpublishedEdits: Bool { trackers.contains { $0.map { !$0.isEmpty } ?? false } }

    /// Whether there are unsaved changes: this context's own, or changes that children have saved here.
    public var hasChanges: Bool {
        observers?.willReadChanges()
        return hasUnpublishedEdits || !failedInserts.isEmpty
            || store.layers.state.withLock { !$0.layers[id].isEmpty }
    }

    /// In the main context, schedules the work at the end of the current turn of the main actor.
    @inline(__always)
    func noteTurn() {
        if isTurnNoted { return }
        isTurnNoted = true
        reference.scheduleEndOfTurn()
    }

    func turnHasEnded() {
        isTurnNoted = false
        observers?.flush()
    }

    /// In debug builds, stops a program that uses an object outside its context's executor.
    func checkIsolation() {
        if !isEnded { reference.checkIsolation() }
    }
}
