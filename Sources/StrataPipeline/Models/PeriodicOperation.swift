public import Foundation
public import Strata

/// An operation that the engine queues periodically, by its schedule.
///
/// ``Strata/ObjectContext/schedule(_:_:in:lane:priority:overlap:catchUp:_:)`` creates and changes it. Any process
/// that has a pipeline or broker open on the store can queue the operation; each time, one of these processes does.
@Model(.index("nextAt"), table: "PeriodicOperation")
public final class PeriodicOperation {
    /// The name of the schedule, unique in the store.
    @Attribute(.unique(onConflict: .update)) public internal(set) var name: String
    /// The pipeline in which the operation is queued.
    public internal(set) var pipeline: PipelineName
    /// The lane of the operation.
    public internal(set) var lane: String = ""
    /// The priority of the operation.
    public internal(set) var priority: Int = 0
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int
    /// The times at which the operation is due.
    public internal(set) var schedule: Schedule
    /// What happens when the operation is due and the previous one is still queued.
    public var overlap: OverlapPolicy = OverlapPolicy.skip
    /// What happens with due times that have passed while no process had the store open.
    public internal(set) var catchUp: CatchUp = CatchUp.one
    /// Whether the schedule is paused. Due times during the pause are left out.
    public var isPaused: Bool = false
    /// The operator who last paused or resumed the schedule by name.
    public internal(set) var pauseChangedBy: String?
    /// When this operator did so.
    public internal(set) var pauseChangedAt: Date?

    /// The schedule from which ``nextAt`` was computed.
    @Attribute(.bookkeeping) var planned: String?
    /// When the operation is due next; nil before the engine has computed it, and while the schedule is paused.
    @Attribute(.bookkeeping) public internal(set) var nextAt: Date?
    /// When the operation was last due, also if none was queued for this time; nil before the first time.
    @Attribute(.bookkeeping) public internal(set) var lastAt: Date?
}

/// What happens when a periodic operation is due and the previous one is still queued.
public enum OverlapPolicy: String, AttributeValue, CaseIterable {
    /// The operation is not queued this time. A previous operation that has failed permanently does not count, and
    /// neither do the other operations of the same ``CatchUp``.
    case skip
    /// The operation is queued as well.
    case queue
}
