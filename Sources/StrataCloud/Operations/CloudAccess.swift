import Strata

/// That an operation reads or writes something of the tree. It goes when the operation does.
@Model(.index("resource", "isWrite", "commit", "operation"), .index("operation"), table: "CloudAccess")
final class CloudAccess {
    /// The number of the id of the operation.
    var operation: Int64
    /// What it reads or writes.
    var resource: String
    /// Whether it writes.
    var isWrite: Bool
    /// What the operation does: see ``Role``.
    var role: Int = 0
    /// Whether those that wait already come behind it, as if it had been queued before them.
    var isBefore: Bool = false
    /// The number of the commit that has queued the operation.
    @Attribute(.commitNumber) var commit: Int64 = 0

    /// What an operation does, as far as that counts when its node is deleted.
    enum Role: Int {
        case other = 0
        /// It sends something that nobody needs then.
        case upload = 1
        /// It makes the node, for what is to lie in it.
        case record = 2
        case move = 3
        /// It sends a copy to others, as far as it can: once it has failed nothing waits for it.
        case message = 4
    }
}
