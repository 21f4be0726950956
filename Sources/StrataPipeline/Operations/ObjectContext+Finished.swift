public import Strata

extension ObjectContext {
    /// The result of a finished operation, by the id that the operation had while it was queued.
    ///
    /// - Returns: nil if the operation is still queued, was never queued, was deleted, or is finished for so long that
    ///   its record is no longer kept.
    /// - Throws: the store's errors.
    /// - Complexity: O(1).
    public func finishedOperation(_ id: ObjectID<QueuedOperation>) throws -> FinishedOperation? {
        try find(id.counterpart(FinishedOperation.self))
    }
}

extension FinishedOperation {
    /// The value that the handler has returned with ``Outcome/done(result:)`` or ``Outcome/doneWithResult(_:)``.
    ///
    /// The value need not have the type that has encoded it, as long as its JSON can be decoded as `type`.
    ///
    /// - Returns: nil if the handler has returned no value, and for operations that no handler has completed.
    /// - Throws: ``PipelineError`` with `undecodableResult`.
    public func resultValue<Value: Decodable>(as type: Value.Type) throws -> Value? {
        try resultValue.map { try ResultValue.decode($0, as: type, of: id.rawValue) }
    }

    /// The payload that the operation had at its end. The payload of an item refers to its object, which may have been
    /// deleted since.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` if the payload has another type, and with `undecodablePayload`
    ///   if a later version of the type has stored it; decoding errors.
    public func payload<Payload: OperationPayload>(as type: Payload.Type) throws -> Payload {
        try Payload.decoded(payload, version: payloadVersion, type: self.type, of: id.rawValue)
    }
}
