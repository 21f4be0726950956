import Foundation
import Strata

/// An upload of encrypted content that has begun. As long as the content is the same, it is encrypted to the same
/// bytes.
@Model(table: "SealedUpload")
final class SealedUpload {
    /// The account.
    var account: String
    /// The number of the node's id.
    @Attribute(.unique) var node: Int64
    /// A ``UploadState`` as JSON.
    var ticket: Data
}

extension Query where Object == SealedUpload {
    static func upload(of node: Int64) -> Self { SealedUpload.where { $0.node == node } }
}
