public import Strata

/// Which object of the application a queued operation is about, under the number of the operation's id.
///
/// Made by ``Strata/ObjectContext/enqueue(_:in:lane:priority:key:notBefore:)`` with a ``QueueItem``, and there as long as the operation is queued.
@Model(.index("item"), table: "OperationItem")
public final class OperationItem {
    /// The number of the object's id.
    public internal(set) var item: Int64
}
