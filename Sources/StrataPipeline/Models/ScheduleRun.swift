import Foundation
import Strata

/// A run of a schedule, under the id number of its operation.
///
/// While the operation is queued, its row has the state. When the operation leaves the queue, the same transaction
/// copies the result here, so that the run outlives the retention of finished operations.
@Model(.index("schedule", "queuedAt"), .index("isQueued", whereNotNil: "isQueued"), table: "ScheduleRun")
package final class ScheduleRun {
    /// The name of the schedule.
    package internal(set) var schedule: String
    /// When the operation was due; nil if an operator requested the run.
    package internal(set) var dueAt: Date?
    /// When the operation was queued.
    package internal(set) var queuedAt: Date
    /// True until the operation leaves the queue with a result; then nil.
    package internal(set) var isQueued: Bool?
    /// When the handler was last started.
    package internal(set) var startedAt: Date?
    /// When the operation ended.
    package internal(set) var finishedAt: Date?
    /// The result of the operation.
    package internal(set) var result: OperationResult?
    /// The error of the last failed attempt; nil if no attempt has failed.
    package internal(set) var error: String?
}
