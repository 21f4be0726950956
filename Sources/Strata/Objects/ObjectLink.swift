/// What ties an object to its context. Stored in each object by `@Model`.
public struct ObjectLink {
    enum Owner {
        /// Made and not yet inserted, without relationships to others that are not either.
        case none
        case draft(Draft)
        case context(ObjectContext)
    }

    var owner = Owner.none

    /// The link of an object that belongs to no context.
    public init() {}

    init(_ context: ObjectContext) { owner = .context(context) }

    var context: ObjectContext? {
        if case .context(let context) = owner { context } else { nil }
    }

    /// Somebody looks at a property of the object with this number.
    public func _$willRead(_ number: Int64, _ column: Int) {
        guard case .context(let context) = owner, let observers = context.observers else { return }
        observers.willRead(number, column)
    }
}

/// What the context of an object notes in it. Apart from the link, so that looking at it counts no references.
public struct ObjectState {
    /// The place among the unpublished edits of the context, or -1.
    @usableFromInline var edit: Int32 = -1
    var entity: UInt16 = 0
    var isDeleted = false
    /// Whether reads and changes are told to observers, as the context says (H30).
    @usableFromInline var isObserved = false

    /// The state of an object that belongs to no context.
    public init() {}

    init(edit: Int32 = -1, entity: UInt16, isObserved: Bool) {
        self.edit = edit
        self.entity = entity
        self.isObserved = isObserved
    }
}

extension Model {
    /// Called before a property is read. In debug builds it checks that the caller is on the context's executor (H4).
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

    /// Whether the object was deleted here, or has vanished from where this context reads. Its last values stay
    /// readable.
    public var isDeleted: Bool {
        if _$state.isObserved { _$observe(ContextObservers.Facet.isDeleted) }
        return _$state.isDeleted
    }

    /// Whether the object belongs to a context.
    public var isInserted: Bool { _$link.context != nil }
}
