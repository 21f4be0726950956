import Foundation
import Strata

/// The rules that every commit enforces, whichever process and context it comes from.
extension QueuedOperation: CommitFollower {
    package static var guards: [String] { StatusRules.guards }

    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        let begunAnew = try checkInserted(commit.inserted, book)
        if !commit.inserted.isEmpty { try book.journal(commit.inserted.filter { !begunAnew.contains($0) }) }
        guard !commit.updated.isEmpty || !commit.deleted.isEmpty else { return }
        try book.checkMoved(commit.updated("sortKey") + commit.updated("commit"))
        for number in commit.updated { try book.carryOut(number) }
        for number in commit.deleted { try book.letGo(of: number) }
        guard !commit.deleted.isEmpty else { return }
        if let rows = commit.deletedRows {
            try book.journal(deleted: rows)
            for row in rows { try book.goOn(row.pipeline, row.lane) }
        } else {
            // The lanes of the deleted operations are unknown.
            try book.lookAtAllAgain()
        }
    }

    /// Checks inserted operations. An id that was allocated in advance may have been used by another context, and the
    /// operation may be finished. If a commit undoes a delete, an operation that was running at the delete no longer
    /// runs.
    ///
    /// - Returns: the operations that were reset.
    private static func checkInserted(_ inserted: [Int64], _ book: OperationBook) throws -> Set<Int64> {
        guard let first = inserted.first, let last = inserted.last else { return [] }
        var finished: Set<Int64> = []
        var stale: Set<Int64> = []
        var awaited: Set<Int64> = []
        var torn: Set<Int64> = []
        // In most commits the range from the first to the last id has no such rows.
        try book.transaction.rows(QueueSQL.selectUnfit, [.integer(first), .integer(last)]) { row in
            let number = try row.read(Int64.self, at: 0)
            switch try row.read(Int.self, at: 1) {
            case 1: finished.insert(number)
            case 2: stale.insert(number)
            case 3: awaited.insert(number)
            default: torn.insert(number)
            }
        }
        if finished.isEmpty, stale.isEmpty, awaited.isEmpty, torn.isEmpty { return [] }
        torn.formIntersection(inserted)
        guard torn.isEmpty else {
            throw PipelineError(
                .invalidArgument,
                "What operations say of themselves cannot be: only an active one has a worker, and only one that waits, for a place.",
                operations: torn.sorted()
            )
        }
        let known = finished.intersection(inserted)
        guard known.isEmpty else {
            throw PipelineError(
                .alreadyFinished,
                "Operations of these ids have been queued and finished before: an id is used once.",
                operations: known.sorted()
            )
        }
        stale.formIntersection(inserted)
        for number in stale.sorted() { try book.beginAnew(number) }
        // Dependants of an id that was not queued until now may precede the new operation in its lane, which would
        // close a cycle.
        try book.checkRings(from: awaited.intersection(inserted).sorted())
        return stale
    }
}

extension OperationDependency: CommitFollower {
    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        let strays = try book.strays(among: commit.inserted, QueueSQL.selectStrayDependencies)
        try book.delete(strays, of: OperationDependency.self, by: QueueSQL.deleteDependency)
        try book.checkDependants(
            (commit.inserted + commit.updated).flatMap {
                try transaction.numbers(QueueSQL.selectDependant, [.integer($0)])
            }
        )
        for number in commit.updated {
            // The dependant may no longer have to wait.
            for owner in try transaction.numbers(QueueSQL.selectDependant, [.integer(number)]) {
                try book.lookAgain(owner)
            }
        }
        try book.lookAgain(afterDeletesOf: commit) { $0.dependant }
    }
}

/// Skips the operations of an object when the object is deleted.
extension OperationItem: Companion {
    package static var ownerColumn: String { "item" }
    package static func mayGo(with model: any Model.Type) -> Bool { model is any QueueItem.Type }

    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        let strays = try book.strays(among: commit.inserted, QueueSQL.selectStrayItems)
        try book.delete(strays, of: OperationItem.self, by: QueueSQL.deleteItem)
        for number in commit.inserted + commit.updated where try !hasItem(number, transaction) {
            try CommitConsequences.skip([number], in: transaction)
        }
    }

    /// Whether the object of an operation exists. It may have been deleted, or rolled back separately, before the
    /// commit.
    private static func hasItem(_ number: Int64, _ transaction: StoreTransaction) throws -> Bool {
        var id: String?
        try transaction.rows(QueueSQL.selectItemPayload, [.integer(number)]) { row in
            id = try? JSONDecoder().decode(QueuedItemText.self, from: row.read(Data.self, at: 0)).id
        }
        return try id.map { try transaction.isThere($0) ?? true } ?? true
    }

    package static func follow(deletesOf owners: NumberRuns, in transaction: StoreTransaction) throws {
        for run in owners.runs {
            let values: [StoredValue] = [.integer(run.lowerBound), .integer(run.upperBound)]
            try CommitConsequences.skip(transaction.numbers(QueueSQL.selectOfItems, values), in: transaction)
        }
    }
}

extension OperationHold: CommitFollower {
    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        let strays = try book.strays(among: commit.inserted, QueueSQL.selectStrayHolds)
        try book.delete(strays, of: OperationHold.self, by: QueueSQL.deleteHold)
        for number in commit.inserted + commit.updated {
            for owner in try transaction.numbers(QueueSQL.selectHoldOwners, [.integer(number)]) {
                try book.lookAgain(owner)
            }
        }
        try book.lookAgain(afterDeletesOf: commit) { $0.operation }
    }
}

extension OperationBook {
    /// The inserted rows that belong to operations which do not exist, because their own context has deleted the
    /// operations before the commit.
    ///
    /// - Complexity: one statement for each run of consecutive ids, and O(rows).
    fileprivate func strays(among inserted: [Int64], _ sql: String) throws -> [Int64] {
        try NumberRuns(ascending: inserted).runs.flatMap { run in
            try transaction.numbers(sql, [.integer(run.lowerBound), .integer(run.upperBound)])
        }
    }

    /// Creates a book for a transaction.
    ///
    /// - Parameter known: the rules of pipelines that are open here. For other pipelines, the stored rules apply.
    init(_ transaction: StoreTransaction, now: Date = Date(), _ known: [PipelineName: Rules] = [:]) {
        self.init(transaction: transaction, now: now) { name in
            if let rules = known[name] { return rules }
            var rules = Rules()
            try transaction.rows(QueueSQL.selectRecord, [.text(name.rawValue)]) { rules = try Rules($0) }
            return rules
        }
    }
}

extension StoreTransaction {
    /// The names of all pipelines that have operations.
    func names() throws -> [String] {
        var names: [String] = []
        try rows(QueueSQL.selectNames, []) { names.append(try $0.read(String.self, at: 0)) }
        return names
    }
}
