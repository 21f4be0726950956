/// A reference to a context, which a program can name, push and pass around.
///
/// The context lives as long as a handle of it exists. The stack holds the handle of a named context until
/// ``ContextStack/reset()`` or ``ContextStack/close()``. When an unnamed context ends with unsaved changes, it logs the
/// number of lost changes at the level `debug`. Releasing the last handle is the way to discard the work of an unnamed
/// context. All handles of one context are the same object, equal and hashed by identity.
public final class ContextHandle: Sendable, Identifiable, Hashable, CustomStringConvertible {
    /// A number that is unique among all contexts that this stack has ever had.
    public let id: Int

    /// The name, if the context has one.
    public let name: ContextName?

    /// The kind of the context: root, main or private.
    public let kind: ContextKind

    /// The context that receives the saves of this one; nil if the store receives them.
    public let parent: ContextHandle?

    /// Whether the objects of the context take part in Swift's `Observation`. The objects of the main context do; those
    /// of other contexts do if ``ContextStack/create(_:named:parent:reads:merging:observable:)`` says so.
    public let isObservable: Bool

    let core: StackCore
    /// False for the substitute of a handle that no longer exists.
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
        executor: ContextExecutor?
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

    /// A handle to a context that has ended, for objects that have outlived the context.
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

    /// Whether both handles refer to the same context.
    public static func == (left: ContextHandle, right: ContextHandle) -> Bool {
        left.owner === right.owner
    }

    /// Hashes the identity of the context.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(owner))
    }
}
