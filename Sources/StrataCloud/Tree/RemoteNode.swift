public import Foundation
public import Strata

/// What the remote has of a node, as far as it was heard of: written by what has been sent and by what was found, never by edits.
@Model(.unique("parent", "segment"), .index("account"), table: "RemoteNode")
public final class RemoteNode: Model {
    /// The id of the account.
    public internal(set) var account: String
    /// The folder of the remote that it lies in; nil for trunks.
    public internal(set) var parent: RemoteNode?
    /// What lies in it.
    @Relationship(inverse: \RemoteNode.parent) public var children: Many<RemoteNode>
    /// The last segment of its key.
    public internal(set) var segment: String
    /// Whether it is a folder.
    public internal(set) var isFolder: Bool = false
    /// The node here; nil where that was deleted, and the remote does not know yet.
    public internal(set) var node: CloudNode?
    /// The version of the content; nil where there is none, or none is known.
    public internal(set) var eTag: String?
    /// The size of the content in bytes.
    public internal(set) var size: Int64?
    /// When the content was written, by the remote's clock.
    public internal(set) var modifiedAt: Date?
    /// The version of the metadata.
    public internal(set) var metadataETag: String?
    /// The version of the thumbnail.
    public internal(set) var thumbnailETag: String?
    /// The version of the record, of remotes that keep records.
    public internal(set) var recordETag: String?
    /// Whether the remote is known to have it. Where not, it was about to be sent.
    var isCertain: Bool = true
    /// What was sent, or about to be, since the remote has answered last: the prints of the contents, by which a repeat is recognised.
    var sending: [String] = []
    /// The print of the content that the remote has, where that has passed through this machine.
    var contentPrint: String?
}

extension RemoteNode {
    /// Where it lies.
    ///
    /// - Complexity: O(depth).
    public var key: RemoteKey {
        var segments: [String] = []
        var node: RemoteNode? = self
        while let this = node {
            segments.append(this.segment)
            node = this.parent
        }
        return RemoteKey(escaped: segments.reversed())
    }

    func eTag(of section: ContentSections) -> ETag? { snapshot.eTag(of: section) }
}

extension RemoteNode.Row {
    func eTag(of section: ContentSections) -> ETag? {
        switch section {
        case .data: eTag.map { ETag(stored: $0) }
        case .metadata: metadataETag.map { ETag(stored: $0) }
        case .thumbnail: thumbnailETag.map { ETag(stored: $0) }
        default: nil
        }
    }

    /// What was sent, or about to be, since the remote has answered last.
    var sentPrints: [ContentPrint] { sending.compactMap(ContentPrint.init(text:)) }

    /// The same, and what the remote is known to have.
    var prints: [ContentPrint] { sentPrints + (contentPrint.flatMap(ContentPrint.init(text:)).map { [$0] } ?? []) }
}
