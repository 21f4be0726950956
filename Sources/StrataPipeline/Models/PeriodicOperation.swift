public import Foundation
public import Strata

/// An operation that is queued again and again, as its schedule says.
///
/// Made and changed by ``Strata/ObjectContext/schedule(_:_:in:lane:priority:overlap:_:)``. It is queued by whichever process has a pipeline
/// or broker open on the store, by one of them only.
@Model(.index("nextAt"), table: "PeriodicOperation")
public final class PeriodicOperation {
    /// Its name, one of which there is but once.
    @Attribute(.unique(onConflict: .update)) public internal(set) var name: String
    /// Where it is queued.
    public internal(set) var pipeline: PipelineName
    /// In which lane.
    public internal(set) var lane: String = ""
    /// With which priority.
    public internal(set) var priority: Int = 0
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int
    /// When.
    public internal(set) var schedule: Schedule
    /// What happens when it is due and the one before is still queued.
    public var overlap: OverlapPolicy = OverlapPolicy.skip
    /// Whether it is not queued for now. What would have been due meanwhile is left out.
    public var isPaused: Bool = false

    /// The schedule that ``nextAt`` is by.
    @Attribute(.bookkeeping) var planned: String?
    /// When it is due next; nil before that is known, and while it is paused.
    @Attribute(.bookkeeping) public internal(set) var nextAt: Date?
    /// When it was due last.
    @Attribute(.bookkeeping) public internal(set) var lastAt: Date?
}

/// What happens when a periodic operation is due and the one before is still queued.
public enum OverlapPolicy: String, AttributeValue, CaseIterable {
    /// It is left out this time. One that has failed for good is not in the way.
    case skip
    /// It is queued as well.
    case queue
}
