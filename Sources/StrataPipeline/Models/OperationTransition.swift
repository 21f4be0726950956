public import Foundation
public import Strata

/// A step of an operation's from one status to another, where its pipeline or broker keeps a journal of them.
///
/// Kept as long as finished operations by their age, and may be deleted like any objects.
@Model(.index("operation"), .index("pipeline"), .index("at"), table: "OperationTransition")
public final class OperationTransition {
    /// The number of the operation's id.
    public internal(set) var operation: Int64
    /// Where it was queued.
    public internal(set) var pipeline: PipelineName
    /// Where it stood from then on: the name of an ``OperationStatus``, of an ``OperationResult``, or `deleted`.
    public internal(set) var status: String
    /// How many attempts were counted then.
    public internal(set) var attempts: Int
    /// What it waited for, or why its last attempt had failed, where that is known.
    public internal(set) var reason: String?
    /// The number of the commit.
    public internal(set) var commit: Int64
    /// When, by the clock of who has done it.
    public internal(set) var at: Date
}
