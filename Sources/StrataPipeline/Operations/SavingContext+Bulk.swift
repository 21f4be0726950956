public import Foundation
public import Strata

/// What a bulk action does with the running operations that its query finds.
public enum RunningPolicy: Sendable, CaseIterable {
    /// They continue, and do not count.
    case leave
    /// They are cancelled, as ``QueuedOperation/skip()`` cancels a running operation. They leave the queue when their
    /// handlers have returned.
    case cancel
}

extension SavingContext {
    /// Retries all operations that a query finds and that have failed permanently, in one commit and without loading
    /// them.
    ///
    /// ```swift
    /// let failed = QueuedOperation.where { $0.pipeline == .uploads && $0.hasTag("import") }
    /// try context.retryOperations(failed)
    /// ```
    ///
    /// Each operation is retried as by ``QueuedOperation/retry()``: its attempts are reset, and it keeps its place,
    /// key, failures, and holds. The call leaves operations that have not failed as they are.
    ///
    /// Like `batchUpdate`, a bulk action is a separate, atomic commit, which is on disk when the call returns. It
    /// changes committed operations, and ignores the unsaved changes of all contexts, including this one. An unsaved
    /// edit of a value that the action has changed is a conflict when it is committed. Observers, live queries, events,
    /// recorded transitions, and the engines of all processes learn of it as of any other commit.
    ///
    /// - Isolation: inside a block of the context.
    /// - Parameter query: any query of operations. With a limit, it finds at most this many, in its order.
    /// - Returns: the number of retried operations.
    /// - Throws: `StrataError` with `invalidQuery`, or with `invalidState` if the context cannot commit now, for
    ///   example in a savepoint; the store's errors. Nothing has changed then.
    /// - Complexity: O(operations found), by a number of statements that does not depend on them. One id for each
    ///   operation in memory.
    @discardableResult
    public func retryOperations(_ query: Query<QueuedOperation>) throws -> Int {
        try bulk(query) { try $0.retryFailed(among: $1) }
    }

    /// Skips all operations that a query finds, in one commit and without loading them.
    ///
    /// Each operation is skipped as by ``QueuedOperation/skip()``: it becomes a ``FinishedOperation``, and its
    /// dependants continue. The call is a separate commit, as ``retryOperations(_:)`` is.
    ///
    /// - Parameters:
    ///   - query: any query of operations.
    ///   - running: what happens to operations that run.
    /// - Returns: the number of skipped operations, and of those that are now being cancelled.
    /// - Throws: as ``retryOperations(_:)``.
    /// - Complexity: as ``retryOperations(_:)``. In addition O(dependants, dependencies and holds of the operations).
    @discardableResult
    public func skipOperations(_ query: Query<QueuedOperation>, running: RunningPolicy = .leave) throws -> Int {
        try bulk(query) { try $0.skip($1, running) }
    }

    /// Holds all operations that a query finds until a date, in one commit and without loading them.
    ///
    /// Each operation is held as by ``QueuedOperation/hold(_:until:)``. A running operation is held after its attempt,
    /// unless the attempt finishes it. The call is a separate commit, as ``retryOperations(_:)`` is.
    ///
    /// - Parameters:
    ///   - query: any query of operations.
    ///   - name: the name of the hold, such as its reason. A hold of the same name is moved to the new date.
    ///   - date: the end of the hold.
    /// - Returns: the number of held operations.
    /// - Throws: ``PipelineError`` with `invalidArgument` for the empty name and the names `start` and `retry`;
    ///   otherwise as ``retryOperations(_:)``.
    /// - Complexity: as ``retryOperations(_:)``.
    @discardableResult
    public func holdOperations(_ query: Query<QueuedOperation>, _ name: String, until date: Date) throws -> Int {
        try HoldName.requireFree(name, operations: [])
        return try bulk(query) { try $0.hold($1, name, until: date) }
    }

    /// Removes a hold from all operations that a query finds, in one commit and without loading them, as
    /// ``QueuedOperation/release(_:)`` does.
    ///
    /// The call is a separate commit, as ``retryOperations(_:)`` is.
    ///
    /// - Parameters:
    ///   - query: any query of operations.
    ///   - name: the name of the hold. `start` is the hold of `notBefore:`, and `retry` the pause before an attempt.
    /// - Returns: the number of operations that had the hold.
    /// - Throws: as ``retryOperations(_:)``.
    /// - Complexity: as ``retryOperations(_:)``.
    @discardableResult
    public func releaseOperations(_ query: Query<QueuedOperation>, from name: String) throws -> Int {
        try bulk(query) { try $0.release($1, from: name) }
    }

    /// Sets the priority of all operations that a query finds, in one commit and without loading them.
    ///
    /// A running operation has the new priority at its next attempt. The call is a separate commit, as
    /// ``retryOperations(_:)`` is.
    ///
    /// - Parameters:
    ///   - priority: the priority. Of the ready operations, those with the greatest priority start first.
    ///   - query: any query of operations.
    /// - Returns: the number of operations that had another priority.
    /// - Throws: as ``retryOperations(_:)``.
    /// - Complexity: as ``retryOperations(_:)``.
    @discardableResult
    public func setPriority(_ priority: Int, of query: Query<QueuedOperation>) throws -> Int {
        try bulk(query) { try $0.set(priority: priority, of: $1) }
    }

    private func bulk(
        _ query: Query<QueuedOperation>,
        _ body: (OperationRepository, _ operations: [Int64]) throws -> Int
    ) throws -> Int {
        var count = 0
        try engineBatch(over: query) { transaction, operations in
            if !operations.isEmpty { count = try body(OperationRepository(transaction), operations) }
        }
        return count
    }
}

extension HoldName {
    /// Refuses the empty name, and the names of holds that pipelines create themselves.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument`.
    static func requireFree(_ name: String, operations: [Int64]) throws {
        guard !name.utf8.isEmpty else {
            throw PipelineError(
                .invalidArgument,
                "The name of the hold is empty. Name the reason of the hold.",
                operations: operations
            )
        }
        guard all.containsBytes(of: name) else { return }
        throw PipelineError(
            .invalidArgument,
            "'\(name)' is the name of a hold that pipelines create themselves. Choose another name.",
            operations: operations
        )
    }
}
