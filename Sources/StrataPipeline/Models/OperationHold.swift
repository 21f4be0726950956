public import Foundation
public import Strata

/// A reason why an operation does not start before a moment.
///
/// Made by ``QueuedOperation/hold(_:until:)``. An operation waits for all of its holds.
@Model(
    .unique("operation", "name", onConflict: .update),
    .index("until"),
    .index("since", whereNotNil: "since"),
    table: "OperationHold"
)
public final class OperationHold {
    /// The number of the operation's id.
    public internal(set) var operation: Int64
    /// Its name, one of which an operation has but once.
    public internal(set) var name: String
    /// The moment.
    public internal(set) var until: Date
    /// When a pause began that ends then: it is as long as the time between the two, whatever the clock is set to meanwhile. Nil for a hold that ends at a
    /// time of day.
    public internal(set) var since: Date?
}
