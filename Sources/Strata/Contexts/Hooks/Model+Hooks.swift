/// The life cycle hooks. A model has a hook if it declares a method of the same name, in its class or in an extension
/// in its module. The methods below are placeholders for the hooks that a model does not declare.
extension Model {
    /// Called when an inserted object is about to be saved for the first time.
    ///
    /// A model declares the hook as `func willInsert(in context: ObjectContext) throws`. The first `save()` or
    /// `commit()` of the object's context calls it once for each insert, before timestamps are set and objects are
    /// validated. Values that the hook sets are part of that save. The hook may insert, change and delete other
    /// objects. The same save calls the hooks of these objects, once for each object.
    ///
    /// If the hook throws, the save throws this error and saves nothing. Values that hooks have set stay set. The next
    /// save calls hooks again only for objects that were edited since.
    ///
    /// Isolation: the context's executor. A hook cannot save the context.
    @_disfavoredOverload
    public func willInsert(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when changes of an object are about to be saved.
    ///
    /// A model declares the hook as `func willUpdate(in context: ObjectContext) throws`. A `save()` or `commit()` of
    /// the context calls it once for each object that was edited in the context since the context last called the
    /// object's hooks. For changes that children have saved into this context, the child has already called the hooks.
    /// In all other respects the hook works like ``willInsert(in:)``.
    ///
    /// Isolation: the context's executor. A hook cannot save the context.
    @_disfavoredOverload
    public func willUpdate(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when an object is about to be deleted, by `delete` or by a delete rule.
    ///
    /// A model declares the hook as `func willDelete(in context: ObjectContext)`. The object and its relationships
    /// still exist. However, an object that a delete rule deletes together with another object no longer refers to that
    /// other object. Changes that the hook makes to other objects are ordinary edits of this context. The hook cannot
    /// refuse the delete; use a delete rule or ``validateDelete(in:_:)`` for that.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func willDelete(in context: ObjectContext) -> NoHook { NoHook() }

    /// Called when the context has created an object for a stored or pending row that it had no object for.
    ///
    /// A model declares the hook as `func didFetch(in context: ObjectContext)`. The hook is suitable for setting values
    /// that are not stored. It is called before the fetch returns, after all objects of the fetch exist. If the hook
    /// itself fetches objects, their hooks are called after it returns.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func didFetch(in context: ObjectContext) -> NoHook { NoHook() }

    /// Checks an object together with others, before the object is saved.
    ///
    /// A model declares the method as
    /// `func validate(in context: ObjectContext, _ failures: inout Validation<Article>) throws`. Each `save()` and
    /// `commit()` calls it after the hooks, for every object whose insert or change it carries. The method sees the
    /// state that the context shows: the store, the parents' published edits, and the context's own edits. The method
    /// must only read. If it edits anything, the save throws ``StrataError/Code/invalidState``. The method cannot see
    /// commits that others make at the same moment. Use unique constraints, delete rules and ``validate(_:_:)`` for
    /// conditions that must always hold.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func validate(in context: ObjectContext, _ failures: inout Validation<Self>) -> NoHook { NoHook() }

    /// Checks whether an object may be deleted, before the delete is saved.
    ///
    /// Works like ``validate(in:_:)``. The context no longer shows the object, nor the objects that its delete rules
    /// have deleted.
    ///
    /// Isolation: the context's executor.
    @_disfavoredOverload
    public func validateDelete(in context: ObjectContext, _ failures: inout Validation<Self>) -> NoHook { NoHook() }

    /// The placeholder for ``validate(_:_:)`` of a model that does not declare it. Only ``RowValidation`` uses it.
    ///
    /// It is not disfavored, unlike the others, because the default implementation of the requirement is.
    @_documentation(visibility: internal)
    @discardableResult
    public static func validate(_ row: Row, _ failures: inout Validation<Self>) -> NoHook { NoHook() }
}
