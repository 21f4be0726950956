public import Strata

/// Which object of the application a queued operation is about, under the number of the operation's id.
///
/// Made with operations whose payload is a ``QueuedItem``, and there as long as they are queued.
@Model(.index("item"), table: "OperationItem")
public final class OperationItem {
    /// The number of the object's id; 0 where the operation was given another payload.
    public internal(set) var item: Int64
}
