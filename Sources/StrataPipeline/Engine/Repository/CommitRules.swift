import Foundation
import Strata

/// The rules that every commit enforces, whichever process and context it comes from.
extension QueuedOperation: CommitHook {
    package static var guards: [String] { StatusRules.guards }
    package static var copyStatements: [String] { QueueSQL.copyStatements }
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.operationRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let wereReset = try checkInserted(commit.inserted, repository)
        if !commit.inserted.isEmpty {
            try repository.recordTransitions(of: commit.inserted.filter { !wereReset.contains($0) })
        }
        guard !commit.updated.isEmpty || !commit.deleted.isEmpty else { return }
        try repository.checkMoved(commit.updated("sortKey") + commit.updated("commit"))
        for number in commit.updated { try repository.applyRequest(of: number) }
        for number in commit.deleted { try repository.releaseDependants(of: number) }
        try repository.endUniqueness(of: commit.deleted)
        try repository.deleteTags(of: commit.deleted)
        guard !commit.deleted.isEmpty else { return }
        if try repository.areRunsQueued() { try repository.endRuns(of: commit.deleted) }
        if let rows = commit.deletedRows {
            try repository.recordTransitions(ofDeleted: rows)
            for row in rows { try repository.startNextInLane(row.lane, of: row.pipeline) }
        } else {
            // The lanes of the deleted operations are unknown.
            try repository.reevaluateAll()
        }
    }

    /// Checks inserted operations. An id that was allocated in advance may have been used by another context, and the
    /// operation may be finished. If a commit undoes a delete, an operation that was running at the delete no longer
    /// runs.
    ///
    /// - Returns: the operations that were reset.
    private static func checkInserted(_ inserted: [Int64], _ repository: OperationRepository) throws -> Set<Int64> {
        guard let first = inserted.first, let last = inserted.last else { return [] }
        var finished: Set<Int64> = []
        var stale: Set<Int64> = []
        var awaited: Set<Int64> = []
        var torn: Set<Int64> = []
        // In most commits the range from the first to the last id has no such rows.
        try repository.transaction.rows(QueueSQL.selectUnfit, [.integer(first), .integer(last)]) { row in
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
                "The status of these operations is inconsistent: only active operations have a worker, and only "
                    + "waiting operations wait for a place.",
                operations: torn.sorted()
            )
        }
        let known = finished.intersection(inserted)
        guard known.isEmpty else {
            throw PipelineError(
                .alreadyFinished,
                "Operations with these ids were queued and finished before. Use each id only once.",
                operations: known.sorted()
            )
        }
        stale.formIntersection(inserted)
        for number in stale.sorted() { try repository.reset(number) }
        // Dependants of an id that was not queued until now may precede the new operation in its lane, which would
        // close a cycle.
        try repository.checkCycles(from: awaited.intersection(inserted).sorted())
        return stale
    }
}

extension OperationDependency: CommitHook {
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.dependencyRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayDependencies)
        try repository.delete(strays, of: OperationDependency.self, by: QueueSQL.deleteDependency)
        try repository.checkDependants(
            (commit.inserted + commit.updated).flatMap {
                try transaction.numbers(QueueSQL.selectDependant, [.integer($0)])
            }
        )
        for number in commit.updated {
            // The dependant may no longer have to wait.
            for owner in try transaction.numbers(QueueSQL.selectDependant, [.integer(number)]) {
                try repository.reevaluate(owner)
            }
        }
        try repository.reevaluate(afterDeletesOf: commit) { $0.dependant }
    }
}

/// Skips the operations of an object when the object is deleted.
extension OperationItem: OwnedModel {
    package static var ownerColumn: String { "item" }
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.itemRules }
    package static func mayBelong(to model: any Model.Type) -> Bool { model is any QueueItem.Type }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayItems)
        try repository.delete(strays, of: OperationItem.self, by: QueueSQL.deleteItem)
        for number in commit.inserted + commit.updated where try !hasItem(number, transaction) {
            try CommitConsequences.skip([number], in: transaction)
        }
    }

    /// Whether the object of an operation exists. It may have been deleted, or rolled back separately, before the
    /// commit.
    private static func hasItem(_ number: Int64, _ transaction: StoreTransaction) throws -> Bool {
        var id: String?
        try transaction.rows(QueueSQL.selectItemPayload, [.integer(number)]) { row in
            id = try? StoredJSON.decoder.decode(QueuedItemText.self, from: row.read(Data.self, at: 0)).id
        }
        return try id.map { try transaction.objectExists($0) ?? true } ?? true
    }

    package static func afterWrite(deletesOf owners: IDRanges, in transaction: StoreTransaction) throws {
        for run in owners.ranges {
            let values: [StoredValue] = [.integer(run.lowerBound), .integer(run.upperBound)]
            try CommitConsequences.skip(transaction.numbers(QueueSQL.selectOfItems, values), in: transaction)
        }
    }
}

extension OperationHold: CommitHook {
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.holdRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayHolds)
        try repository.delete(strays, of: OperationHold.self, by: QueueSQL.deleteHold)
        for number in commit.inserted + commit.updated {
            for owner in try transaction.numbers(QueueSQL.selectHoldOwners, [.integer(number)]) {
                try repository.reevaluate(owner)
            }
        }
        try repository.reevaluate(afterDeletesOf: commit) { $0.operation }
    }
}

extension OperationTrace: CommitHook {
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.traceRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayTraces)
        try repository.delete(strays, of: OperationTrace.self, by: QueueSQL.deleteTrace)
    }
}

extension PeriodicOperation: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        // The pause may end before an engine notices it.
        if !commit.updated("isPaused").isEmpty { try repository.planPaused() }
        if !commit.deleted.isEmpty { try repository.deleteRunsWithoutSchedule() }
    }
}

extension ScheduleRun: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        guard !commit.inserted.isEmpty else { return }
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayRuns)
        try repository.delete(strays, of: ScheduleRun.self, by: QueueSQL.deleteRun)
        try repository.pruneRuns(among: commit.inserted)
    }
}

extension OperationRepository {
    /// The inserted rows that belong to operations which do not exist, because their own context has deleted the
    /// operations before the commit.
    ///
    /// - Complexity: one statement for each run of consecutive ids, and O(rows).
    func strays(among inserted: [Int64], _ sql: String) throws -> [Int64] {
        try IDRanges(ascending: inserted).ranges.flatMap { run in
            try transaction.numbers(sql, [.integer(run.lowerBound), .integer(run.upperBound)])
        }
    }
}

extension StoreTransaction {
    /// The names of all pipelines that have operations.
    func names() throws -> [PipelineName] {
        var names: [PipelineName] = []
        try rows(QueueSQL.selectNames, []) { names.append(PipelineName(try $0.read(String.self, at: 0))) }
        return names
    }
}
