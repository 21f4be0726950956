public import Foundation
public import Strata

/// The last known state of a node at the remote. Uploads and pulls write it; edits never do.
@Model(.unique("parent", "segment", "isFolder"), .index("account"), table: "RemoteNode")
public final class RemoteNode: Model {
    /// The id of the account.
    public internal(set) var account: String
    /// The folder at the remote that contains the node; nil for trunks.
    public internal(set) var parent: RemoteNode?
    /// The known nodes in this folder. A folder row is deleted only after its children's rows, because a row without
    /// its folder would have the key of another object.
    @Relationship(deleteRule: .deny, inverse: \RemoteNode.parent) public var children: Many<RemoteNode>
    /// The last segment of the node's key. At a remote whose folders are only key prefixes, a file and a folder may
    /// have the same segment.
    public internal(set) var segment: String
    /// Whether it is a folder.
    public internal(set) var isFolder: Bool = false
    /// The local node; nil if it was deleted here and the remote does not know about the delete yet.
    public internal(set) var node: CloudNode?
    /// The version of the content; nil if the node has no content, or if its version is unknown. A folder has the
    /// version of the file beside it. In an encrypted account this file also contains metadata and thumbnail.
    public internal(set) var eTag: String?
    /// The size of the content in bytes.
    public internal(set) var size: Int64?
    /// When the content was written, by the remote's clock.
    public internal(set) var modifiedAt: Date?
    /// The version of the metadata.
    public internal(set) var metadataETag: String?
    /// The version of the thumbnail.
    public internal(set) var thumbnailETag: String?
    /// Unused. The column stays, because a migration drops a column only if the application declares it.
    var recordETag: String?
    /// Whether the remote is known to have the node. If false, an upload was about to send it.
    var isCertain: Bool = true
    /// Whether a listing of the remote has shown the node since this machine last sent it. Until then, a listing
    /// without the node proves nothing: some servers list new objects seconds late, and some never list names that
    /// begin with a dot. Rows of older stores count as shown.
    var isListed: Bool = true
    /// Whether the content may already be beside the folder that the file is about to become.
    var isConverting: Bool = false
    /// The hashes of the contents that were sent, or were about to be sent, since the remote's last answer. They
    /// identify a repeated upload.
    var sending: [String] = []
    /// The hash of the remote's content, if the content has passed through this machine.
    var contentPrint: String?
    /// How the content is encrypted, if this machine has read the encrypted file.
    var seal: KnownSeal?
}

extension RemoteNode {
    /// The node's key at the remote.
    ///
    /// - Throws: ``CloudError`` with `noSuchFolder` if the folders above the node do not lead to a trunk. The segments
    ///   alone would be the key of another object, outside of the tree.
    /// - Complexity: O(depth).
    public var key: RemoteKey {
        get throws {
            let lineage = lineage
            guard let top = lineage.last, top.parent == nil, top.node?.isTrunk == true else {
                throw CloudError(
                    .noSuchFolder,
                    "The parent folder of '\(segment)' at the remote is unknown. Pull to find it again.",
                    nodes: [id.rawValue]
                )
            }
            return RemoteKey(escaped: lineage.map(\.segment).reversed())
        }
    }

    /// This node and the folders above it, the trunk last. Stops at a cycle in a damaged store.
    var lineage: [RemoteNode] {
        var (lineage, seen) = ([self], Set([id]))
        while let parent = lineage[lineage.count - 1].parent, seen.insert(parent.id).inserted { lineage.append(parent) }
        return lineage
    }

    /// This node and all nodes below it, folders before their content. Stops at a cycle in a damaged store.
    func subtree() throws -> [RemoteNode] {
        var (all, seen, waiting) = ([] as [RemoteNode], Set([id]), [self])
        while let next = waiting.popLast() {
            all.append(next)
            if next.isFolder { waiting += try next.children.fetch().filter { seen.insert($0.id).inserted } }
        }
        return all
    }
}

extension RemoteNode {
    /// The stored text of a content hash in ``sending``. A hash of the data has no prefix; other hashes have the bit of
    /// their section as a prefix.
    static func sending(_ hash: ContentHash, of section: ContentSections) -> String {
        section == .data ? hash.text : "\(section.rawValue):\(hash.text)"
    }

    /// The content hash in a text of ``sending``; nil if the hash belongs to another section.
    static func hash(of section: ContentSections, in text: String) -> ContentHash? {
        guard section != .data else { return text.containsByte(of: ":") ? nil : ContentHash(text: text) }
        let mark = "\(section.rawValue):"
        return text.hasBytePrefix(mark) ? ContentHash(text: text.droppingFirstBytes(mark.utf8.count)) : nil
    }
}

extension RemoteNode.Row {
    func eTag(of section: ContentSections) -> ETag? {
        switch section {
        case .header, .data: eTag.map { ETag(stored: $0) }
        case .metadata: metadataETag.map { ETag(stored: $0) }
        case .thumbnail: thumbnailETag.map { ETag(stored: $0) }
        default: nil
        }
    }

    /// How the known version is encrypted; nil if unknown.
    var knownSeal: KnownSeal? {
        guard let eTag, let seal, ETag.isSame(seal.eTag.map { ETag(stored: $0) }, eTag) else { return nil }
        return seal
    }

    /// The version of a section. All sections of an encrypted file have the file's version.
    func eTag(of section: ContentSections, isEncrypted: Bool) -> ETag? {
        eTag(of: isEncrypted && knownSeal?.isPlain != true ? .data : section)
    }

    /// Whether the remote has, or may have, a section. A folder has only the sections with a version.
    func mayHave(_ section: ContentSections, isEncrypted: Bool) -> Bool {
        if section == .data { return hasContent }
        return !isFolder || eTag(of: section) != nil || eTag(of: section, isEncrypted: isEncrypted) != nil
    }

    /// Whether the remote has, or may have, the node's data.
    var hasContent: Bool {
        // Most folders have no content.
        guard isFolder else { return true }
        guard eTag != nil else { return false }
        // The encrypted file of a folder may contain only metadata. The digest identifies empty data.
        guard let knownSeal, !knownSeal.isPlain else { return true }
        return knownSeal.sections.contains(.data) || knownSeal.digest(of: .data) != nil
    }

    /// The sections that the remote has, or may have.
    func sections(isEncrypted: Bool) -> ContentSections {
        if isEncrypted, !isFolder || eTag != nil {
            guard let knownSeal else { return .given }
            if !knownSeal.isPlain { return knownSeal.sections.union(hasContent ? .data : []) }
        }
        var sections: ContentSections = hasContent ? .data : []
        if metadataETag != nil { sections.insert(.metadata) }
        if thumbnailETag != nil { sections.insert(.thumbnail) }
        return sections
    }

    /// The hashes of the data that was sent, or was about to be sent, since the remote's last answer.
    var sentHashes: [ContentHash] { sentHashes(of: .data) }

    /// The hashes of a section's contents that were sent, or were about to be sent, since the remote's last answer.
    func sentHashes(of section: ContentSections) -> [ContentHash] {
        sending.compactMap { RemoteNode.hash(of: section, in: $0) }
    }

    /// The sent hashes of the data, and the hash of the data that the remote is known to have.
    var hashes: [ContentHash] { sentHashes + (contentPrint.flatMap(ContentHash.init(text:)).map { [$0] } ?? []) }
}
