public import Foundation
public import Strata

/// An operation that is queued when no further call has replaced it for a while.
///
/// ``Strata/ObjectContext/enqueue(_:in:lane:priority:key:debounce:maxWait:)`` creates it. Any process that has a
/// pipeline or broker open on the store can queue the operation when it is due; one of these processes does. The row is
/// deleted then. To cancel the operation before, delete the row.
@Model(.index("pipeline", "key"), .index("dueAt"), table: "DebouncedOperation")
public final class DebouncedOperation {
    /// The pipeline in which the operation is queued.
    public internal(set) var pipeline: PipelineName
    /// The key of the operation. A commit with another row of this key in the pipeline replaces this row.
    public internal(set) var key: String
    /// The lane of the operation.
    public internal(set) var lane: String
    /// The priority of the operation.
    public internal(set) var priority: Int
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int
    /// When the first of the calls that this row combines was made.
    public internal(set) var firstAt: Date
    /// When the last of these calls was made.
    public internal(set) var lastAt: Date
    /// When the operation is queued.
    public internal(set) var dueAt: Date
    /// How many seconds after ``firstAt`` the operation is queued at the latest.
    var maxWait: Double
}
