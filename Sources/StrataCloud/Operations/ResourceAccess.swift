import Strata

/// A read or a write of a tree resource by an operation. The row is deleted with the operation.
@Model(.index("resource", "isWrite", "commit", "operation"), .index("operation"), table: "CloudAccess")
final class ResourceAccess {
    /// The number of the operation's id.
    var operation: Int64
    /// The resource that the operation reads or writes.
    var resource: String
    var isWrite: Bool
    /// The kind of the operation: see ``Role``.
    var role: Int = 0
    /// Whether operations that already wait depend on this one, as if it had been queued before them.
    var isBefore: Bool = false
    /// The number of the commit that queued the operation.
    @Attribute(.commitNumber) var commit: Int64 = 0

    /// The kind of an operation, as far as a delete of its node distinguishes it.
    enum Role: Int {
        case other = 0
        /// The operation uploads content that is not needed after the node is deleted.
        case upload = 1
        /// The operation creates a folder, so that other nodes can be placed in it.
        case folder = 2
        case move = 3
        /// The operation sends a copy to other accounts, if possible. After it has failed, no operation waits for it.
        case message = 4
    }
}
