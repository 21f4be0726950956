public import Strata

extension Attempt {
    /// The object that is queued, as it was when the attempt was started.
    public func item<Object>() -> Object.Row where Payload == QueuedItem<Object> {
        // No attempt is made without it.
        row as! Object.Row
    }

    /// The operation is done, and these changes of the object with it, as by ``Outcome/done(_:)``. Where the object was deleted meanwhile,
    /// the block is not called.
    ///
    /// - Parameter changes: is given the object and its context. It may delete the object.
    public func done<Object>(
        _ changes: @escaping @Sendable (Object, ObjectContext) throws -> Void
    ) -> Outcome where Payload == QueuedItem<Object> {
        .done { [id = payload.id] context in
            if let object = try context.find(id) { try changes(object, context) }
        }
    }
}
