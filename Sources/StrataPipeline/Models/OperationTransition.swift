public import Foundation
public import Strata

/// A change of an operation's status, recorded if its pipeline or broker records transitions.
///
/// Transitions are kept as long as finished operations of the same age, and may be deleted like any objects.
@Model(.index("operation"), .index("pipeline"), .index("at"), table: "OperationTransition")
public final class OperationTransition {
    /// The id number of the operation.
    public internal(set) var operation: Int64
    /// The pipeline in which the operation was queued.
    public internal(set) var pipeline: PipelineName
    /// The new status: the name of an ``OperationStatus``, of an ``OperationResult``, or `deleted`.
    public internal(set) var status: String
    /// The operation's attempt count at that time.
    public internal(set) var attempts: Int
    /// The constraint that the operation waited for, or the error of the attempt that has just failed. The error is
    /// recorded when the operation has failed permanently, and when it pauses before its next attempt. Nil if the
    /// transition has no such reason.
    public internal(set) var reason: String?
    /// The number of the commit that made the change.
    public internal(set) var commit: Int64
    /// When the change was made, by the clock of the process that made it.
    public internal(set) var at: Date
}
