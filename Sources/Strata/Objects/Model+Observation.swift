/// What accessors call in contexts that are observable, and nowhere else. Apart from the accessors, which are compiled into
/// their callers.
extension Model {
    /// Somebody looks at a property. It lets go of nothing that anybody else holds, so that loops over objects need not hold
    /// each of them while they read.
    @inlinable @inline(never)
    @_effects(releasenone)
    public func _$observe(_ column: Int) { _$link._$willRead(_$row._$number, column) }

    /// Called before all properties are read at once.
    @inlinable @inline(__always)
    public func _$willReadAll() {
        if _$state.isObserved { _$observeAll() }
    }

    @inline(never)
    public func _$observeAll() {
        for column in Self._$schema.columns.indices { _$observe(column) }
    }

    /// Somebody asks for the members of a relationship.
    func observeMembers() {
        if _$state.isObserved { _$observe(ContextObservers.Facet.members) }
    }

    /// Somebody asks whether there is anything to save.
    func observeChanges() {
        if _$state.isObserved { _$link.context?.observers?.willReadChanges() }
    }
}
