public import Strata

extension ObjectContext {
    /// Lets all operations that have failed for good be tried again, with fresh attempts, from the commit on: as
    /// ``QueuedOperation/retry()`` of each. Those that depend on them go on when they are done.
    ///
    /// - Parameter name: the pipeline or queue; nil for all.
    /// - Returns: how many there are.
    /// - Throws: what the store reports.
    /// - Complexity: O(operations that have failed), each of which becomes an object of this context.
    @discardableResult
    public func retryFailed(in name: PipelineName? = nil) throws -> Int {
        let failed = QueuedOperation.where { $0.status == .failed }
        let operations = try fetch(name.map { name in failed.where { $0.pipeline == name } } ?? failed)
        for operation in operations { operation.retry() }
        return operations.count
    }
}
