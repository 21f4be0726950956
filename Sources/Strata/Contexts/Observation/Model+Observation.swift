/// Functions that accessors call, only in observable contexts. They are separate from the accessors, which are compiled
/// into their callers.
extension Model {
    /// Records a read of a property.
    ///
    /// The function releases no object that its caller holds. The compiler therefore need not retain each object in a
    /// loop that reads properties.
    @inlinable @inline(never)
    @_effects(releasenone)
    public func _$observe(_ column: Int) { _$link._$willRead(_$row._$id, column) }

    /// Called before all properties are read at once.
    @inlinable @inline(__always)
    public func _$willReadAll() {
        if _$state.isObserved { _$observeAll() }
    }

    @inline(never)
    public func _$observeAll() {
        for column in Self._$schema.columns.indices { _$observe(column) }
    }

    /// Records a read of a relationship's members.
    func observeMembers() {
        if _$state.isObserved { _$observe(ContextObservers.Facet.members) }
    }

    /// Records a read of whether there are unsaved changes.
    func observeChanges() {
        if _$state.isObserved { _$link.context?.observers?.willReadChanges() }
    }
}
