/// The life cycle hooks. A model that writes a method of the same name, in its class or in an extension in its module, has
/// that hook; what follows stands for those that it has not.
extension Model {
    /// Called when an object that was inserted is about to be saved for the first time.
    ///
    /// A model's own is written `func willInsert(in context: ObjectContext) throws`. It is called once for each insert, by
    /// the first `save()` or `commit()` of the object's context, before timestamps are set and anything is validated: what
    /// it sets is part of that save. It may change other objects, insert and delete; their hooks are called by the same
    /// save, each object's once. What it throws is thrown by the save, and nothing is saved then; what hooks have set
    /// stays, and they are not called again but for objects that were edited since.
    ///
    /// Isolation: the context's executor. The context cannot be saved from a hook.
    @_disfavoredOverload
    public func willInsert(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when changes of an object are about to be saved.
    ///
    /// A model's own is written `func willUpdate(in context: ObjectContext) throws`. It is called once for each `save()` or
    /// `commit()` of the context in which the object was edited since its hooks were last called there; of what children
    /// have saved, they were called in the child. Otherwise it is as ``willInsert(in:)``.
    ///
    /// Isolation: the context's executor. The context cannot be saved from a hook.
    @_disfavoredOverload
    public func willUpdate(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when an object is about to be deleted, by `delete` or by a delete rule.
    ///
    /// A model's own is written `func willDelete(in context: ObjectContext)`. The object and its relationships are still
    /// there; one that a delete rule takes along does not lead to what it goes with any more. What it does to others is an edit of this context as any other. It cannot refuse the delete: that is for a
    /// delete rule, or for ``validateDelete(in:_:)``.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func willDelete(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when an object was made of a row, stored or pending, that this context had no object of.
    ///
    /// A model's own is written `func didFetch(in context: ObjectContext)`. It suits values that are not stored. It is
    /// called before the fetch returns, after all of its objects are there; objects that are fetched by a hook have theirs
    /// called when it has returned.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func didFetch(in context: ObjectContext) -> NoHook { NoHook() }

    /// Checks an object together with others, before it is saved.
    ///
    /// A model's own is written
    /// `func validate(in context: ObjectContext, _ failures: inout Validation<Article>) throws`. It is called by each
    /// `save()` and `commit()`, for every object whose insert or change that is to carry, after the hooks. It sees what the
    /// context shows: the store, the parents' published edits, and its own. It only reads: where it has edited anything,
    /// the save throws ``StrataError/Code/misuse``. What others commit at the same moment it cannot see; what must hold
    /// under all circumstances is for unique constraints, delete rules and ``validate(_:_:)``.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func validate(in context: ObjectContext, _ failures: inout Validation<Self>) -> NoHook { NoHook() }

    /// Checks whether an object may be deleted, before that is saved.
    ///
    /// As ``validate(in:_:)``. The context shows neither the object any more nor what its delete rules have taken along.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func validateDelete(in context: ObjectContext, _ failures: inout Validation<Self>) -> NoHook { NoHook() }
}
