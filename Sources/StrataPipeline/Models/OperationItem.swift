import Strata

/// The application object of a queued operation, under the operation's id number.
///
/// It exists for operations whose payload is a ``QueuedItem``, as long as they are queued.
@Model(.index("item"), table: "OperationItem")
package final class OperationItem {
    /// The id number of the object; 0 if the operation was given another payload.
    package internal(set) var item: Int64
}
