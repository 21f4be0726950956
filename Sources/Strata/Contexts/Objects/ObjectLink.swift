/// The link from an object to its context. `@Model` stores one in each object.
@_documentation(visibility: internal)
public struct ObjectLink {
    enum Owner {
        /// Created and not yet inserted, without relationships to other objects that are not inserted.
        case none
        case pending(PendingRelationships)
        case context(ObjectContext)
    }

    var owner = Owner.none

    /// The link of an object that does not belong to a context.
    public init() {}

    init(_ context: ObjectContext) { owner = .context(context) }

    var context: ObjectContext? {
        if case .context(let context) = owner { context } else { nil }
    }

    /// Records a read of a property of the object with this number.
    public func _$willRead(_ number: Int64, _ column: Int) {
        guard case .context(let context) = owner, let observers = context.observers else { return }
        observers.willRead(number, column)
    }
}

/// State that the context keeps in each of its objects. It is separate from the link, so that reading the state does
/// not change reference counts.
@_documentation(visibility: internal)
public struct ObjectState {
    /// The index among the unpublished edits of the context, or -1.
    @usableFromInline var edit: Int32 = -1
    var entity: UInt16 = 0
    var isDeleted = false
    /// Whether reads and changes are reported to observers; true in observable contexts.
    @usableFromInline var isObserved = false

    /// The state of an object that does not belong to a context.
    public init() {}

    init(edit: Int32 = -1, entity: UInt16, isObserved: Bool) {
        self.edit = edit
        self.entity = entity
        self.isObserved = isObserved
    }
}

extension Model {
    /// Called before a property is read. In debug builds, it checks that the caller runs on the context's executor.
    @inlinable @inline(__always)
    public func _$willRead(_ column: Int) {
        #if DEBUG
            _$checkIsolation()
        #endif
        if _$state.isObserved { _$observe(column) }
    }

    public func _$checkIsolation() { _$link.context?.checkIsolation() }

    /// Called before a column is changed.
    public func _$willChange(_ column: Int) {
        if case .context(let context) = _$link.owner { context.willChange(self, column) }
    }

    /// The context that the object belongs to; nil before it is inserted.
    public var context: ObjectContext? { _$link.context }

    /// Whether the object was deleted in this context, or its row has disappeared from the state that this context
    /// reads. The object's last values stay readable.
    public var isDeleted: Bool {
        if _$state.isObserved { _$observe(ContextObservers.Facet.isDeleted) }
        return _$state.isDeleted
    }

    /// Whether the object belongs to a context.
    public var isInserted: Bool { _$link.context != nil }
}
