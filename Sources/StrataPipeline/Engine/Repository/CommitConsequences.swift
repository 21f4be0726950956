package import Strata

/// Changes of operations within a transaction, for engines that know what their operations do.
package enum CommitConsequences {
    /// Adds prerequisites to an operation, from this transaction on: it starts only when they are completed or skipped.
    /// Existing dependencies stay.
    ///
    /// - Parameter onFailure: what happens to the operation when a prerequisite has failed permanently.
    /// - Throws: ``PipelineError`` with `dependencyCycle` if the operations would wait for each other.
    /// - Complexity: O(1) for each prerequisite, if the operation has no dependants.
    package static func addDependencies(
        _ prerequisites: some Sequence<Int64>,
        to dependant: Int64,
        onFailure: DependencyPolicy = .wait,
        in transaction: StoreTransaction
    ) throws {
        let repository = OperationRepository(transaction)
        if try repository.imply(prerequisites.map { ($0, onFailure) }, of: dependant) {
            try repository.checkDependants([dependant])
        }
    }

    /// These operations and all that depend on any of them, directly or indirectly.
    ///
    /// - Complexity: O(operations found).
    package static func dependants(of operations: Set<Int64>, in transaction: StoreTransaction) throws -> Set<Int64> {
        try reached(from: operations, by: QueueSQL.selectDependants, in: transaction)
    }

    /// These operations and all that depend on any of them by implied dependencies. Dependencies that an application
    /// has requested are left out.
    ///
    /// - Complexity: O(operations found).
    package static func impliedDependants(
        of operations: Set<Int64>,
        in transaction: StoreTransaction
    ) throws -> Set<Int64> {
        try reached(from: operations, by: QueueSQL.selectImpliedDependants, in: transaction)
    }

    /// These operations and all that any of them depends on by implied dependencies. Dependencies that an application
    /// has requested are left out.
    ///
    /// - Complexity: O(operations found).
    package static func impliedPrerequisites(
        of operations: Set<Int64>,
        in transaction: StoreTransaction
    ) throws -> Set<Int64> {
        try reached(from: operations, by: QueueSQL.selectImpliedPrerequisites, in: transaction)
    }

    private static func reached(
        from operations: Set<Int64>,
        by sql: String,
        in transaction: StoreTransaction
    ) throws -> Set<Int64> {
        var found = operations
        var next = Array(operations)
        while let number = next.popLast() {
            for other in try transaction.numbers(sql, [.integer(number)]) where found.insert(other).inserted {
                next.append(other)
            }
        }
        return found
    }

    /// Skips operations as ``QueuedOperation/skip()`` does; running ones are cancelled. Earlier requests stay.
    package static func skip(_ operations: some Sequence<Int64>, in transaction: StoreTransaction) throws {
        try ask(for: .skip, of: operations, in: transaction)
    }

    /// Retries operations as ``QueuedOperation/retry()`` does. Earlier requests stay.
    package static func retry(_ operations: some Sequence<Int64>, in transaction: StoreTransaction) throws {
        try ask(for: .retry, of: operations, in: transaction)
    }

    private static func ask(
        for request: OperationRequest,
        of operations: some Sequence<Int64>,
        in transaction: StoreTransaction
    ) throws {
        let repository = OperationRepository(transaction)
        for number in operations {
            let changed = try transaction.run(
                QueueSQL.request,
                [.integer(Int64(request.rawValue)), .integer(transaction.number), .integer(number)]
            )
            guard changed > 0 else { continue }
            try transaction.report(updated: number, ["request"], of: QueuedOperation.self)
            try repository.applyRequest(of: number)
        }
    }
}

extension OperationRepository {
    /// Adds implied dependencies to an operation.
    ///
    /// - Returns: whether a dependency was added.
    func imply(_ prerequisites: [(Int64, DependencyPolicy)], of dependant: Int64) throws -> Bool {
        var isChanged = false
        for (prerequisite, policy) in prerequisites where prerequisite != dependant {
            let pair: [StoredValue] = [.integer(dependant), .integer(prerequisite)]
            guard try transaction.integer(QueueSQL.selectDependency, pair) == nil else { continue }
            let id = try transaction.newID()
            try transaction.run(
                QueueSQL.insertDependency,
                [.integer(id)] + pair + [.text(policy.rawValue), .integer(transaction.number)]
            )
            try transaction.report(inserted: id, of: OperationDependency.self)
            isChanged = true
        }
        return isChanged
    }

    /// Transfers the implied prerequisites of an operation that leaves the queue to its implied dependants. Only
    /// prerequisites that are still queued count. An operation that was carried out was not waiting for any operation.
    func transferDependencies(of number: Int64) throws {
        var prerequisites: [(Int64, DependencyPolicy)] = []
        try transaction.rows(QueueSQL.selectImpliedPrerequisites, [.integer(number)]) { row in
            prerequisites.append((try row.read(Int64.self, at: 0), try row.read(DependencyPolicy.self, at: 1)))
        }
        guard !prerequisites.isEmpty else { return }
        for dependant in try transaction.numbers(QueueSQL.selectImpliedDependants, [.integer(number)]) {
            _ = try imply(prerequisites, of: dependant)
        }
    }
}
