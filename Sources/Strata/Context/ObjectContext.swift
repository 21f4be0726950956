import Foundation

/// A layer of changes over its parent, another context or the store; the face that blocks work with.
///
/// Objects are inserted, found, changed and deleted here, and live here: an object of one context is not used with
/// another one, see ``Model/in(_:)``. Changes reach the parent by ``save()`` and the store by ``commit()``.
///
/// Isolation: not `Sendable`. A context is seen inside blocks, which run on its executor, and for the main context on
/// the main actor. The `Sendable` reference is its ``handle``.
public final class ObjectContext {
    let store: Store
    let id: Int
    /// The contexts whose layers this one sees above the store, itself last.
    let path: [Int]
    let hasParent: Bool
    let reference: HandleReference
    // On the path of every property of every object: all accesses to what is marked unchecked are short, on one executor,
    // and call nothing that could come back here. To have that checked would cost more than the accesses themselves.
    @exclusivity(unchecked) var identity = IdentityMap()
    /// Unpublished edits by entity.
    @exclusivity(unchecked) var trackers: [(any AnyTracker)?]
    /// What this context reads from; none between its blocks.
    @exclusivity(unchecked) var view: View?
    /// Changes whenever queries of this context may see something else than before.
    @exclusivity(unchecked) var edition = 0
    /// The last event of the layers that the live objects show.
    @exclusivity(unchecked) var cursor = 0
    /// The number of the last commit that the live objects show.
    @exclusivity(unchecked) var shownSequence: Int64 = 0
    /// Whether the layers keep what happens until this context has taken it over.
    @exclusivity(unchecked) var isTracked = false
    var isSaving = false
    /// When the last save began, which is what it sets timestamps to.
    var saveTime = Date.distantPast
    /// The same where inserted rows get it as they are published; nil but while a save begins.
    var insertTime: StoredValue?
    /// Whether the save that runs has no timestamps left to set.
    var isStamped = false
    /// Of a pinned context, the revision of its own layer that it shows.
    var ownRevision: Int?
    /// Whether it goes on showing the state of its first read.
    let isPinned: Bool
    /// Whether the block that runs has a place among the readers.
    var hasPlace = false
    /// What this context has read, where its commit holds only as long as that does: that of a block which an engine commits.
    var readRecord: ReadRecord?
    /// Whether a save applies delete rules once more.
    var isReapplyingRules = false
    @exclusivity(unchecked) private var isTurnNoted = false
    @exclusivity(unchecked) var isEnded = false
    /// Inserts that could not be carried out, and why. They are tried again by the next save, which reports them.
    var failedInserts: [(object: any Model, error: StrataError)] = []
    /// What is still to be done after inserts and deletes; empty but while that is done.
    var consequences: [(ObjectContext) -> Void] = []

    /// The savepoints that the running code is in, with what was before each.
    var savepoints: [Savepoint] = []

    var isInUndoGroup = false
    /// What can be undone.
    var undoHistory = UndoHistory()
    /// What hooks are to be told before the next save, by entity; of those that have such hooks.
    var hookStates: [Int: HookState] = [:]
    /// The objects whose hook before a delete is running.
    var deleting: Set<Int64> = []
    /// The objects whose hook after a fetch is to run.
    var fetched: [(object: AnyObject, entity: Int)] = []
    var isTellingFetched = false
    /// Whether any model has a hook that runs after a fetch.
    let hasFetchHooks: Bool

    /// Who is told of what changes; nil where the context is not observable.
    @exclusivity(unchecked) var observers: ContextObservers?

    /// What delete rules have done for the deletes that are not saved, by the number of the deleted object.
    var deleteEffects: [Int64: DeleteEffects] = [:]

    /// What a save or commit does where somebody else has changed the same columns. By default it throws.
    public var mergePolicy: MergePolicy

    /// Who the history names for commits of this context. By default what the stack was opened with.
    public var author: String?

    /// Values and objects that are kept from one block of this context to the next.
    public var state = ContextState()

    /// The reference to this context that may be passed around.
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

    /// The objects' view of the store: a snapshot and the layers above it, at one moment (H15).
    struct View {
        let reader: Reader
        let sequence: Int64
        var layers: Layers
        /// What queries have read ahead.
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

    /// Whether anything was edited since the last publication.
    var hasUnpublishedEdits: Bool { trackers.contains { $0.map { !$0.isEmpty } ?? false } }

    /// Whether there is anything to save: own changes, or what children have saved here.
    public var hasChanges: Bool {
        observers?.willReadChanges()
        return hasUnpublishedEdits || !failedInserts.isEmpty
            || store.layers.state.withLock { !$0.layers[id].isEmpty }
    }

    /// On main, sees to it that the running turn of the main actor comes to its end.
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

    /// In debug builds, stops a program that uses an object outside of its context's executor (H4).
    func checkIsolation() {
        if !isEnded { reference.checkIsolation() }
    }
}
