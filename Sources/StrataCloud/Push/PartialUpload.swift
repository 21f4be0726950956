import Strata

/// An upload in parts that has begun: what the remote knows it by, and which parts it has.
@Model(.unique("node", "section"), table: "PartialUpload")
final class PartialUpload {
    /// The account.
    var account: String
    /// The number of the node's id.
    var node: Int64
    /// One bit.
    var section: Int
    /// Where it leads.
    var path: String
    /// What is being sent.
    var contentPrint: String
    /// By what the remote knows it.
    var upload: String
    /// How many bytes a part has, but for the last one.
    var partSize: Int64
    /// What the remote has said of each part, in their order; empty of one that has not arrived, and nothing behind the last one that has.
    var parts: [String] = []
}
