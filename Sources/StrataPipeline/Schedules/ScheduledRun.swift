public import Foundation
public import Strata

/// One run of a schedule: an operation that the schedule has queued, or that
/// ``Strata/ObjectContext/runScheduleNow(_:at:)`` has queued.
public struct ScheduledRun: Sendable, Hashable {
    /// How far a run has come. Later versions may add cases, so a `switch` should have a default case.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// The operation waits in its queue.
        case queued
        /// The handler runs.
        case running
        /// The operation has failed permanently, and is still queued for a decision.
        case failed
        /// The operation is done.
        case completed
        /// The operation was skipped.
        case skipped
        /// The operation had failed, and its pipeline discards failed operations.
        case discarded
        /// The operation had not started when its time was over.
        case expired
        /// The operation was deleted from the queue.
        case deleted
    }

    /// The name of the schedule.
    public let schedule: String
    /// The id of the operation.
    public let operation: ObjectID<QueuedOperation>
    /// When the operation was due; nil for a run on request.
    public let dueAt: Date?
    /// When the operation was queued.
    public let queuedAt: Date
    /// When the handler was last started; nil if it was not.
    public let startedAt: Date?
    /// When the operation left the queue; nil while it is queued, and after a deletion.
    public let finishedAt: Date?
    /// How far the run has come.
    public let outcome: Outcome
    /// The error of the last failed attempt, also if a later attempt succeeded; nil if no attempt has failed.
    public let error: String?

    /// The number of runs that the store keeps for each schedule, the newest ones.
    public static let keptCount = 100
}

extension ObjectContext {
    /// The newest runs of a schedule, as this context sees them, newest first. The store keeps
    /// ``ScheduledRun/keptCount`` runs of each schedule.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule. If the store has no such schedule, the result is empty.
    ///   - limit: the greatest number of runs.
    /// - Throws: the store's errors.
    /// - Complexity: O(runs), with a lookup for each run that has not ended.
    public func scheduledRuns(of name: String, limit: Int = ScheduledRun.keptCount) throws -> [ScheduledRun] {
        let newest = ScheduleRun.where { $0.schedule == name }
            .sorted { [$0.queuedAt.descending, $0.id.descending] }
            .limit(max(limit, 0))
        return try fetch(newest).map { try scheduledRun($0) }
    }

    /// The run that an operation belongs to, for example for its due time; nil if no schedule has queued it, or if the
    /// store no longer keeps the run.
    ///
    /// - Throws: the store's errors.
    /// - Complexity: two lookups.
    public func scheduledRun(of operation: ObjectID<QueuedOperation>) throws -> ScheduledRun? {
        try find(operation.counterpart(ScheduleRun.self)).map { try scheduledRun($0) }
    }

    private func scheduledRun(_ row: ScheduleRun) throws -> ScheduledRun {
        let id = row.id.counterpart(QueuedOperation.self)
        // A run without a result may have its operation back: the delete of the operation was undone.
        let operation = try row.result == nil ? find(id) : nil
        return ScheduledRun(
            schedule: row.schedule,
            operation: id,
            dueAt: row.dueAt,
            queuedAt: row.queuedAt,
            startedAt: operation?.startedAt ?? row.startedAt,
            finishedAt: row.finishedAt,
            outcome: ScheduledRun.Outcome(operation?.status, row.result),
            error: operation?.failures.list.last?.message ?? row.error
        )
    }
}

extension ScheduledRun.Outcome {
    /// - Parameters:
    ///   - status: the status of the operation; nil if it is not queued.
    ///   - result: the result of the operation; nil if it has none.
    fileprivate init(_ status: OperationStatus?, _ result: OperationResult?) {
        switch (status, result) {
        case (.pending, _), (.waiting, _), (.held, _): self = .queued
        case (.active, _): self = .running
        case (.failed, _): self = .failed
        case (nil, .completed): self = .completed
        case (nil, .skipped): self = .skipped
        case (nil, .discarded): self = .discarded
        case (nil, .expired): self = .expired
        case (nil, nil): self = .deleted
        }
    }
}
