public import Strata

extension ObjectContext {
    /// Retries all operations that have failed permanently, from the commit on, with their attempts reset, as
    /// ``QueuedOperation/retry()`` does for each. Their dependants continue when the retried operations are done.
    ///
    /// For thousands of operations, ``Strata/SavingContext/retryOperations(_:)`` is faster: it loads none of them.
    ///
    /// - Parameter name: the pipeline or queue; nil for all.
    /// - Returns: the number of operations.
    /// - Throws: the store's errors.
    /// - Complexity: O(failed operations). Each of them becomes an object of this context.
    @discardableResult
    public func retryFailed(in name: PipelineName? = nil) throws -> Int {
        let failed = QueuedOperation.where { $0.status == .failed }
        let operations = try fetch(name.map { name in failed.where { $0.pipeline == name } } ?? failed)
        for operation in operations { operation.retry() }
        return operations.count
    }
}
