public import Strata

/// A tag of an operation: a word by which queries find the operation.
///
/// `enqueue` with `tags:` and ``QueuedOperation/addTags(_:)`` create tags. They stay with the operation when it is
/// finished, and are deleted together with its ``FinishedOperation``.
@Model(
    .unique("name", "operation", onConflict: .update),
    .index("operation"),
    table: "OperationTag"
)
public final class OperationTag {
    /// The text of the tag.
    public internal(set) var name: String
    /// The id number of the operation, which is queued or finished.
    public internal(set) var operation: Int64
}
