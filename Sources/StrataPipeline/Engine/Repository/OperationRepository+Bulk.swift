import Foundation
import Strata

/// Changes of any number of operations at once. Each function has the effects of its single form (``retry(_:)``,
/// ``finish(_:_:in:_:)``, holds and edits in contexts), by a number of statements that does not depend on the number of
/// operations.
extension OperationRepository {
    /// Retries the operations that have failed permanently. Returns their number.
    func retryFailed(among operations: [Int64]) throws -> Int {
        let failed = try transaction.numbers(QueueSQL.selectListedFailed, [.ids(operations)])
        guard !failed.isEmpty else { return 0 }
        if try haveTies() { _ = try deleteHolds(HoldName.retry, of: failed) }
        try transaction.run(QueueSQL.retryListed, [.ids(failed), version])
        try transaction.report(updated: failed, QueueSQL.retryColumns, of: QueuedOperation.self)
        try recordBulk(failed)
        return failed.count
    }

    /// Skips operations. Returns the number of skipped operations, and of running ones that are now asked to end.
    func skip(_ operations: [Int64], _ running: RunningPolicy) throws -> Int {
        let unasked: [Int64] =
            running == .cancel ? try transaction.numbers(QueueSQL.selectListedUnasked, [.ids(operations)]) : []
        if !unasked.isEmpty {
            // The request is carried out when the attempt ends.
            try transaction.run(QueueSQL.skipListed, [.ids(unasked), version])
            try transaction.report(updated: unasked, ["request"], of: QueuedOperation.self)
        }
        let idle = try transaction.numbers(QueueSQL.selectListedInactive, [.ids(operations)])
        try finish(idle, .skipped)
        return idle.count + unasked.count
    }

    /// Takes operations off the queue that do not run, and releases the operations that have waited for them.
    private func finish(_ operations: [Int64], _ result: OperationResult) throws {
        guard !operations.isEmpty else { return }
        let list = StoredValue.ids(operations)
        var dependants: [Int64] = []
        if try haveTies() {
            try transferDependencies(ofAll: list)
            dependants = try transaction.numbers(QueueSQL.selectDependantsOfListed, [list])
            let dependencies = try transaction.numbers(QueueSQL.selectDependenciesOfListed, [list])
            try delete(dependencies, of: OperationDependency.self, byList: QueueSQL.deleteDependenciesOfListed)
            let holds = try transaction.numbers(QueueSQL.selectHoldsOfListed, [list])
            try delete(holds, of: OperationHold.self, byList: QueueSQL.deleteListedHolds)
            let settings = try transaction.numbers(QueueSQL.selectSettingsOfListed, [list])
            try delete(settings, of: OperationSettings.self, byList: QueueSQL.deleteListedSettings)
        }
        if try haveItems() {
            let items = try transaction.numbers(QueueSQL.selectListedItems, [list])
            try delete(items, of: OperationItem.self, byList: QueueSQL.deleteListedItems)
            let traces = try transaction.numbers(QueueSQL.selectListedTraces, [list])
            try delete(traces, of: OperationTrace.self, byList: QueueSQL.deleteListedTraces)
        }
        try endUniqueness(of: operations)
        try transaction.run(
            QueueSQL.archiveListed,
            [list, .null, .text(result.rawValue), .real(now.timeIntervalSinceReferenceDate), version]
        )
        try transaction.report(inserted: operations, of: FinishedOperation.self)
        if try areRunsQueued() { try endRuns(of: operations) }
        try transaction.run(QueueSQL.deleteListed, [list])
        try transaction.report(deleted: operations, of: QueuedOperation.self)
        try record(list, counting: QueueSQL.countRecordedFinished, QueueSQL.recordFinished)
        try setPending(dependants)
        for ordering in PipelineOrdering.allCases where ordering.isSerial {
            try setPending(transaction.numbers(QueueSQL.selectNextInLanes(ordering), [list]))
        }
        if try areAwaited() { try setPending(transaction.numbers(QueueSQL.selectAwaitingInLanes, [list])) }
    }

    /// Transfers the implied prerequisites of operations that leave the queue to their remaining implied dependants.
    private func transferDependencies(ofAll list: StoredValue) throws {
        guard let count = try transaction.integer(QueueSQL.countImpliedPairs, [list]), count > 0 else { return }
        let ids = try transaction.newIDs(Int(count))
        try transaction.run(QueueSQL.insertImpliedPairs, [list, .integer(ids.lowerBound), version])
        try transaction.report(inserted: Array(ids), of: OperationDependency.self)
    }

    /// Holds operations until a date. Returns their number.
    func hold(_ operations: [Int64], _ name: String, until date: Date) throws -> Int {
        let list = StoredValue.ids(operations)
        let until = StoredValue.real(date.timeIntervalSinceReferenceDate)
        let known = try holds(name, of: list).map(\.hold)
        if !known.isEmpty {
            try transaction.run(QueueSQL.moveListedHolds, [.ids(known), until, version])
            try transaction.report(updated: known, ["until"], of: OperationHold.self)
        }
        if known.count < operations.count {
            sideResults.facts[.ties] = true
            let ids = try transaction.newIDs(operations.count - known.count)
            try transaction.run(
                QueueSQL.insertHolds,
                [list, .integer(ids.lowerBound), .text(name), until, version]
            )
            try transaction.report(inserted: Array(ids), of: OperationHold.self)
        }
        try raiseEdits(of: operations)
        try reevaluate(operations)
        return operations.count
    }

    /// Removes a hold from operations. Returns the number of those that had it.
    func release(_ operations: [Int64], from name: String) throws -> Int {
        guard try haveTies() else { return 0 }
        let released = try deleteHolds(name, of: operations)
        try raiseEdits(of: released)
        try reevaluate(released)
        return released.count
    }

    /// Sets the priority of operations. Returns the number of those that had another one.
    func set(priority: Int, of operations: [Int64]) throws -> Int {
        let priority = StoredValue.integer(Int64(priority))
        let changed = try transaction.numbers(QueueSQL.selectListedOfOtherPriority, [.ids(operations), priority])
        guard !changed.isEmpty else { return 0 }
        let list = StoredValue.ids(changed)
        try transaction.run(QueueSQL.prioritiseListed, [list, priority, version])
        try transaction.report(updated: changed, ["priority", "rank"], of: QueuedOperation.self)
        // A place may have been offered to an operation that is no longer the best of its lane. The operation that is
        // the best now need not be among the changed ones. Other waits do not depend on priorities.
        if try areAwaited() { try setPending(transaction.numbers(QueueSQL.selectAwaitingBesideListed, [list])) }
        return changed.count
    }

    // MARK: Parts of the above

    /// Makes a change of the holds of operations a change of the operations too, so that their observers see it.
    private func raiseEdits(of operations: [Int64]) throws {
        guard !operations.isEmpty else { return }
        try transaction.run(QueueSQL.raiseListedEdits, [.ids(operations), version])
        try transaction.report(updated: operations, ["edits"], of: QueuedOperation.self)
    }

    /// Makes operations pending that are waiting or held, and do not wait for a constraint.
    private func reevaluate(_ operations: [Int64]) throws {
        guard !operations.isEmpty else { return }
        try setPending(transaction.numbers(QueueSQL.selectListedWaiting, [.ids(operations)]))
    }

    private func setPending(_ operations: [Int64]) throws {
        guard !operations.isEmpty else { return }
        try transaction.run(QueueSQL.setListedPending, [.ids(operations), version])
        try transaction.report(updated: operations, Self.statusColumns, of: QueuedOperation.self)
        try recordBulk(operations)
    }

    private func holds(_ name: String, of list: StoredValue) throws -> [(hold: Int64, operation: Int64)] {
        var holds: [(hold: Int64, operation: Int64)] = []
        try transaction.rows(QueueSQL.selectHoldsNamed, [list, .text(name)]) { row in
            holds.append((try row.read(Int64.self, at: 0), try row.read(Int64.self, at: 1)))
        }
        return holds
    }

    /// Deletes a hold of operations. Returns the operations that had it.
    private func deleteHolds(_ name: String, of operations: [Int64]) throws -> [Int64] {
        let holds = try holds(name, of: .ids(operations))
        try delete(holds.map(\.hold), of: OperationHold.self, byList: QueueSQL.deleteListedHolds)
        return holds.map(\.operation)
    }

    /// Deletes rows of a model by one statement with a list of ids.
    func delete(_ numbers: [Int64], of model: any Model.Type, byList sql: String) throws {
        guard !numbers.isEmpty else { return }
        try transaction.run(sql, [.ids(numbers)])
        try transaction.report(deleted: numbers, of: model)
    }

    /// Records the present status of queued operations as transitions, if their pipelines record them.
    private func recordBulk(_ operations: [Int64]) throws {
        try record(.ids(operations), counting: QueueSQL.countRecordedQueued, QueueSQL.recordQueued)
    }

    private func record(_ list: StoredValue, counting counter: String, _ sql: String) throws {
        guard try areTransitionsRecorded(), let count = try transaction.integer(counter, [list]), count > 0 else {
            return
        }
        let ids = try transaction.newIDs(Int(count))
        try transaction.run(
            sql,
            [list, .integer(ids.lowerBound), version, .real(now.timeIntervalSinceReferenceDate)]
        )
        try transaction.report(inserted: Array(ids), of: OperationTransition.self)
    }
}

extension StoredValue {
    /// Ids as a JSON array, for statements with any number of ids.
    static func ids(_ numbers: [Int64]) -> StoredValue {
        .text("[" + numbers.map { String($0) }.joined(separator: ",") + "]")
    }
}
