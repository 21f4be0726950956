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
    /// The payload that the operation had at its end. The payload of an item refers to its object, which may have been
    /// deleted since.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` if the payload has another type, and with `undecodablePayload`
    ///   if a later version of the type has stored it; decoding errors.
    public func payload<Payload: OperationPayload>(as type: Payload.Type) throws -> Payload {
        try Payload.decoded(payload, version: payloadVersion, type: self.type, of: id.rawValue)
    }
}
