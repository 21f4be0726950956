public import Strata

extension ObjectContext {
    /// What has become of an operation, by the id that it had while it was queued.
    ///
    /// - Returns: nil where it is queued still, was never, was deleted, or was done with so long ago that it is not kept any more.
    /// - Throws: what the store reports.
    /// - Complexity: O(1).
    public func finishedOperation(_ id: ObjectID<QueuedOperation>) throws -> FinishedOperation? {
        try find(id.counterpart(FinishedOperation.self))
    }
}

extension FinishedOperation {
    /// The payload that it had at the end. That of an item leads to its object, which may be deleted by now.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` where it is of another type, `undecodablePayload` where a later version has stored it; what
    ///   decoding throws.
    public func payload<Payload: OperationPayload>(as type: Payload.Type) throws -> Payload {
        try Payload.decoded(payload, version: payloadVersion, type: self.type, of: id.number)
    }
}
