public import Strata

extension Attempt {
    /// The queued object, with the values that it had when the attempt started.
    public func item<Object>() -> Object.Row where Payload == QueuedItem<Object> {
        // An attempt of a queued item is only created with its row.
        row as! Object.Row
    }

    /// Completes the operation, and commits these changes of the object in the same transaction, as
    /// ``Outcome/done(_:)`` does. If the object has been deleted meanwhile, the block is not called.
    ///
    /// - Parameter changes: receives the object and its context. The block may delete the object.
    public func done<Object>(
        _ changes: @escaping @Sendable (Object, ObjectContext) throws -> Void
    ) -> Outcome where Payload == QueuedItem<Object> {
        .done { [id = payload.id] context in
            if let object = try context.find(id) { try changes(object, context) }
        }
    }
}
