public import Foundation
public import Strata

/// A hold: a reason why an operation does not start before a date.
///
/// ``QueuedOperation/hold(_:until:)`` creates it. An operation waits for all of its holds.
@Model(
    .unique("operation", "name", onConflict: .update),
    .index("until"),
    .index("since", whereNotNil: "since"),
    table: "OperationHold"
)
public final class OperationHold {
    /// The id number of the operation.
    public internal(set) var operation: Int64
    /// The name of the hold, unique for an operation.
    public internal(set) var name: String
    /// The date until which the hold lasts.
    public internal(set) var until: Date
    /// The start of the pause that ends at ``until``; nil for a hold that ends at a fixed date. A pause keeps its
    /// length when the clock is set meanwhile: the length is the time between the two dates.
    public internal(set) var since: Date?
}
