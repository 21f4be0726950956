package import Strata

/// What follows from a commit for operations, for engines that know what these do.
package enum CommitConsequences {
    /// Lets an operation start only when others are completed or skipped, from this transaction on. What it depends on already stays so.
    ///
    /// - Throws: ``PipelineError`` with `dependencyCycle` where they would wait for each other.
    /// - Complexity: O(1) for each, where nothing depends on the operation.
    package static func addDependencies(
        _ prerequisites: some Sequence<Int64>,
        to dependant: Int64,
        in transaction: StoreTransaction
    ) throws {
        let book = OperationBook(transaction)
        if try book.imply(prerequisites, of: dependant) { try book.checkDependants([dependant]) }
    }

    /// Leaves operations out: those that run are cancelled, as by ``QueuedOperation/skip()``. What somebody has decided already stays so.
    package static func skip(_ operations: some Sequence<Int64>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        for number in operations {
            let changed = try transaction.run(
                QueueSQL.request,
                [.integer(Int64(OperationRequest.skip.rawValue)), .integer(transaction.number), .integer(number)]
            )
            guard changed > 0 else { continue }
            try transaction.note(updated: number, ["request"], of: QueuedOperation.self)
            try book.carryOut(number)
        }
    }
}

extension OperationBook {
    /// Lets an operation depend on others, by what they do.
    ///
    /// - Returns: whether it did not before.
    fileprivate func imply(_ prerequisites: some Sequence<Int64>, of dependant: Int64) throws -> Bool {
        var isChanged = false
        for prerequisite in prerequisites where prerequisite != dependant {
            let pair: [StoredValue] = [.integer(dependant), .integer(prerequisite)]
            guard try transaction.integer(QueueSQL.selectDependency, pair) == nil else { continue }
            let id = try transaction.newID()
            try transaction.run(
                QueueSQL.insertDependency,
                [.integer(id)] + pair + [.text(DependencyPolicy.wait.rawValue), .integer(transaction.number)]
            )
            try transaction.note(inserted: id, of: OperationDependency.self)
            isChanged = true
        }
        return isChanged
    }

    /// Lets what depends on an operation that is left out, by what both do, wait for what that has waited for. Nothing is waited for by
    /// one that was carried out.
    func passOn(_ number: Int64) throws {
        let prerequisites = try transaction.numbers(QueueSQL.selectImpliedPrerequisites, [.integer(number)])
        guard !prerequisites.isEmpty else { return }
        for dependant in try transaction.numbers(QueueSQL.selectImpliedDependants, [.integer(number)]) {
            _ = try imply(prerequisites, of: dependant)
        }
    }
}
