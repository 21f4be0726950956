import Strata

/// A multipart upload that has begun: the remote's identifier, and the parts that have arrived.
@Model(.unique("node", "section"), table: "PartialUpload")
final class PartialUpload {
    /// The account.
    var account: String
    /// The number of the node's id.
    var node: Int64
    /// The section, as one bit.
    var section: Int
    /// The path of the destination at the remote.
    var path: String
    /// The hash of the content.
    var contentPrint: String
    /// The remote's identifier of the upload.
    var upload: String
    /// The number of bytes in each part except the last one.
    var partSize: Int64
    /// The remote's receipts of the parts, in order. The receipt of a part that has not arrived is empty. The array
    /// ends with the last part that has arrived.
    var parts: [String] = []
}
