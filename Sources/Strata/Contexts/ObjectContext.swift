/// A layer of changes over its parent, which is another context or the store. Blocks work with a context.
///
/// A context inserts, finds, changes and deletes objects. Each live object belongs to one context and is not used with
/// another one, see ``Model/in(_:)``. A ``SavingContext`` also saves its changes to its parent and commits them.
///
/// Isolation: not `Sendable`. A context is available inside blocks, which run on its executor; the main context is also
/// available on the main actor. The `Sendable` reference to a context is its ``handle``.
public class ObjectContext {
    final let store: Store
    final let reference: HandleReference
    final let position: LayerPosition

    // The following properties are the context's state, one property for each job. The context joins the jobs.
    //
    // The first four are used at every access to a property of an object. All accesses to the properties marked
    // unchecked are short and run on one executor. Dynamic exclusivity checks would cost more than the accesses
    // themselves. Two rules replace the checks:
    // - A method of these types calls neither a context nor a model's code. This includes methods that only read,
    //   because `live` and `reading` are lent to them and not copied.
    // - A mutating method releases no object of a model, because a deinitializer may use the context. The caller keeps
    //   the object, or the method returns it. An assignment may release objects: the new value is in place by then.
    @exclusivity(unchecked) final var lifecycle = ContextLifecycle()
    /// The observers of this context's objects; nil if the context is not observable.
    @exclusivity(unchecked) final var observers: ContextObservers?
    @exclusivity(unchecked) final var live: LiveObjects
    @exclusivity(unchecked) final var reading: ContextReading
    @exclusivity(unchecked) final var hookQueue: HookQueue
    @exclusivity(unchecked) final var saving: ContextSaving
    @exclusivity(unchecked) final var deleteEffects = DeleteEffectLog()
    @exclusivity(unchecked) final var undoing = ContextUndo()

    /// Values and objects that are kept from one block of this context to the next.
    public final var state = ContextState()

    /// How a save or commit handles columns that another context has changed too. The default policy throws.
    public final var mergePolicy: MergePolicy {
        get { saving.mergePolicy }
        set { saving.mergePolicy = newValue }
    }

    /// The author of this context's commits in the history. The default is the author with which the stack was opened.
    public final var author: String? {
        get { saving.author }
        set { saving.author = newValue }
    }

    /// A reference to this context that can be passed between isolation domains.
    public final var handle: ContextHandle { reference.resolved }

    init(handle: ContextHandle) {
        store = handle.core.engine
        reference = HandleReference(handle)
        position = LayerPosition(
            id: handle.id,
            path: store.layers.state.withLock { $0.layers.readPath(to: handle.id) },
            hasParent: handle.parent != nil
        )
        observers = handle.isObservable ? ContextObservers() : nil
        live = LiveObjects(entityCount: store.schema.entities.count)
        reading = ContextReading(
            isPinned: handle.merging == .pinned,
            loops: store.telemetry.relationshipLoopLimit.map { RelationshipLoops(limit: $0) }
        )
        hookQueue = HookQueue(hasFetchHooks: store.schema.hasFetchHooks)
        saving = ContextSaving(mergePolicy: handle.core.mergePolicy, author: handle.core.author)
    }

    /// The number of this context in its stack, and of its layer.
    final var id: Int { position.id }

    /// The contexts whose layers this context sees above the store, ending with itself.
    final var path: [Int] { position.path }

    final var hasParent: Bool { position.hasParent }

    /// Whether the context has ended. Its objects are then detached.
    final var isEnded: Bool { lifecycle.isEnded }

    /// Whether the context has edits that are not published yet.
    final var hasUnpublishedEdits: Bool { live.hasUnpublishedEdits }

    /// Whether there are unsaved changes: this context's own, or changes that children have saved here.
    public final var hasChanges: Bool {
        observers?.willReadChanges()
        return hasUnpublishedEdits || !saving.failedInserts.isEmpty
            || store.layers.state.withLock { !$0.layers[id].isEmpty }
    }

    /// In debug builds, stops a program that uses an object outside its context's executor.
    final func checkIsolation() {
        if !isEnded { reference.checkIsolation() }
    }
}

/// The position of a context's layer among the layers of its stack.
struct LayerPosition {
    let id: Int
    /// The contexts whose layers the context sees above the store, ending with itself.
    let path: [Int]
    /// Whether the context was created over another context. The path of a context over the committed state does not
    /// contain its parent.
    let hasParent: Bool
}

/// The steps of a context's life that its owner determines: turns of the main actor, and the end.
struct ContextLifecycle {
    /// Whether the end of the current turn of the main actor is scheduled.
    var isTurnNoted = false
    var isEnded = false
}
