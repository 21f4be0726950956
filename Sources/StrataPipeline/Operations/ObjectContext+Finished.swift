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
