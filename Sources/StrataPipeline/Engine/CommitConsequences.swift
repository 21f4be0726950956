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
        if isChanged { try OperationBook(transaction).checkDependants([dependant]) }
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
