/// The reference to a context that can be named, pushed and passed around.
///
/// The context lives as long as somebody holds a handle of it; a named one is held by its stack until
/// ``ContextStack/reset()`` or ``ContextStack/close()``. An unnamed context that goes with unsaved changes logs how many
/// were lost at the level `debug`: letting it go is the way to cancel what it was made for. Handles of one context are the
/// same object, equal and hashed by identity.
public final class ContextHandle: Sendable, Identifiable, Hashable, CustomStringConvertible {
    /// A number that no other context of this stack has had.
    public let id: Int

    /// The name, if it has one.
    public let name: ContextName?

    /// Where the context works.
    public let kind: ContextKind

    /// The context that saves go to; nil for the store.
    public let parent: ContextHandle?

    /// Whether the objects of the context take part in Swift's `Observation`: main's do, others by
    /// ``ContextStack/create(_:named:parent:reads:merging:observable:)``.
    public let isObservable: Bool

    let core: StackCore
    /// False for the stand-in of a handle that is gone.
    private let isOriginal: Bool
    let owner: ContextOwner
    let merging: ContextMerging

    init(
        core: StackCore,
        id: Int,
        kind: ContextKind,
        name: ContextName?,
        parent: ContextHandle?,
        reads: ContextReads,
        merging: ContextMerging,
        isObservable: Bool,
        executor: ContextExecutor? = nil
    ) {
        self.core = core
        self.id = id
        self.kind = kind
        self.name = name
        self.parent = parent
        self.merging = merging
        self.isObservable = isObservable
        isOriginal = true
        self.owner = ContextOwner(kind: kind, title: name?.rawValue ?? "unnamed-\(id)", on: executor)
        core.engine.layers.add(context: id, parent: parent?.id, committedOnly: reads == .committed)
        if merging == .now {
            let owner = owner
            core.engine.layers.watch(id) { owner.scheduleEndOfTurn() }
        }
    }

    /// A handle to a context that is gone, for objects that have outlived it.
    init(gone id: Int, kind: ContextKind, name: ContextName?, core: StackCore, owner: ContextOwner) {
        self.core = core
        self.id = id
        self.kind = kind
        self.name = name
        self.parent = nil
        merging = .atNextBlock
        isObservable = false
        isOriginal = false
        self.owner = owner
    }

    deinit {
        if isOriginal && !owner.isCreated { core.engine.layers.remove(context: id) }
        core.handleIsGone(id: id, title: description, owner: owner)
    }

    /// The name, or the number of an unnamed context.
    public var description: String {
        name.map { "'\($0)'" } ?? "unnamed-\(id)"
    }

    /// Whether both are the same context.
    public static func == (left: ContextHandle, right: ContextHandle) -> Bool {
        left.owner === right.owner
    }

    /// Hashes the identity of the context.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(owner))
    }

    /// What a context keeps of its own handle, without keeping it alive.
    var reference: HandleReference {
        HandleReference(self)
    }
}
