public import Foundation
public import Strata

/// What the remote has of a node, as far as it was heard of: written by what has been sent and by what was found, never by edits.
@Model(.unique("parent", "segment", "isFolder"), .index("account"), table: "RemoteNode")
public final class RemoteNode: Model {
    /// The id of the account.
    public internal(set) var account: String
    /// The folder of the remote that it lies in; nil for trunks.
    public internal(set) var parent: RemoteNode?
    /// What lies in it. A folder of which rows are known is not forgotten before these: a row without its folder would have the key of something
    /// else.
    @Relationship(deleteRule: .deny, inverse: \RemoteNode.parent) public var children: Many<RemoteNode>
    /// The last segment of its key. A file and a folder may have the same one, of remotes to which folders are what keys have in common.
    public internal(set) var segment: String
    /// Whether it is a folder.
    public internal(set) var isFolder: Bool = false
    /// The node here; nil where that was deleted, and the remote does not know yet.
    public internal(set) var node: CloudNode?
    /// The version of the content; nil if the node has no content, or its version is unknown. That of a folder is the version of the file beside it,
    /// which in an encrypted account holds metadata and thumbnail as well.
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
    /// Whether a listing or a feed of the remote has shown it since it was last sent from here. Until then, a listing that lacks it proves nothing:
    /// some servers list new objects seconds late, and some never list names that begin with a dot. Rows of older stores count as shown.
    var isListed: Bool = true
    /// Whether its content may already lie beside the folder that it is about to become.
    var isConverting: Bool = false
    /// What was sent, or about to be, since the remote has answered last: the prints of the contents, by which a repeat is recognised.
    var sending: [String] = []
    /// The print of the content that the remote has, where that has passed through this machine.
    var contentPrint: String?
    /// How the content is sealed, where that was looked at.
    var seal: KnownSeal?
}

extension RemoteNode {
    /// Where it lies.
    ///
    /// - Throws: ``CloudError`` with `noSuchFolder` if the folders above it do not lead to a trunk. Its segments alone would be the key of
    ///   something else, outside of the tree.
    /// - Complexity: O(depth).
    public var key: RemoteKey {
        get throws {
            let lineage = lineage
            guard let top = lineage.last, top.parent == nil, top.node?.isTrunk == true else {
                throw CloudError(
                    .noSuchFolder,
                    "The remote's folder of '\(segment)' is not known. Pull, so that it is found again.",
                    nodes: [id.number]
                )
            }
            return RemoteKey(escaped: lineage.map(\.segment).reversed())
        }
    }

    /// This and the folders that it lies in, the trunk last. A ring of a damaged store ends.
    var lineage: [RemoteNode] {
        var (lineage, seen) = ([self], Set([id]))
        while let parent = lineage[lineage.count - 1].parent, seen.insert(parent.id).inserted { lineage.append(parent) }
        return lineage
    }

    /// This and everything below it, folders first. A ring of a damaged store ends.
    func subtree() throws -> [RemoteNode] {
        var (all, seen, waiting) = ([] as [RemoteNode], Set([id]), [self])
        while let next = waiting.popLast() {
            all.append(next)
            if next.isFolder { waiting += try next.children.fetch().filter { seen.insert($0.id).inserted } }
        }
        return all
    }

    func eTag(of section: ContentSections) -> ETag? { snapshot.eTag(of: section) }
}

extension RemoteNode {
    /// How a print is written down among those that are being sent: that of the data as it is, others behind the bit of their section.
    static func sending(_ print: ContentPrint, of section: ContentSections) -> String {
        section == .data ? print.text : "\(section.rawValue):\(print.text)"
    }

    /// The print in what was written down, if it is one of this section.
    static func print(of section: ContentSections, in text: String) -> ContentPrint? {
        guard section != .data else { return text.containsByte(of: ":") ? nil : ContentPrint(text: text) }
        let mark = "\(section.rawValue):"
        return text.hasBytePrefix(mark) ? ContentPrint(text: text.droppingFirstBytes(mark.utf8.count)) : nil
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

    /// How the version is sealed that is known by now; nil where that is not known.
    var knownSeal: KnownSeal? {
        guard let eTag, let seal, ETag.isSame(seal.eTag.map { ETag(stored: $0) }, eTag) else { return nil }
        return seal
    }

    /// The version of a section. All sections of a sealed file have that of the file.
    func eTag(of section: ContentSections, isSealed: Bool) -> ETag? {
        eTag(of: isSealed && knownSeal?.isPlain != true ? .data : section)
    }

    /// Whether the remote is known to have a section, or may have it. A folder has only the sections with a version.
    func mayHave(_ section: ContentSections, isSealed: Bool) -> Bool {
        if section == .data { return hasContent }
        return !isFolder || eTag(of: section) != nil || eTag(of: section, isSealed: isSealed) != nil
    }

    /// Whether the remote has data of it, or may have.
    var hasContent: Bool {
        // Most folders have none.
        guard isFolder else { return true }
        guard eTag != nil else { return false }
        // The encrypted file of a folder may hold metadata alone. Empty data are recognised by their digest.
        guard let knownSeal, !knownSeal.isPlain else { return true }
        return knownSeal.sections.contains(.data) || knownSeal.digest(of: .data) != nil
    }

    /// The sections of the content that the remote has, or may have.
    func sections(isSealed: Bool) -> ContentSections {
        if isSealed, !isFolder || eTag != nil {
            guard let knownSeal else { return .given }
            if !knownSeal.isPlain { return knownSeal.sections.union(hasContent ? .data : []) }
        }
        var sections: ContentSections = hasContent ? .data : []
        if metadataETag != nil { sections.insert(.metadata) }
        if thumbnailETag != nil { sections.insert(.thumbnail) }
        return sections
    }

    /// What was sent, or about to be, since the remote has answered last.
    var sentPrints: [ContentPrint] { sentPrints(of: .data) }

    /// The same of a section.
    func sentPrints(of section: ContentSections) -> [ContentPrint] {
        sending.compactMap { RemoteNode.print(of: section, in: $0) }
    }

    /// The same of the content, and what the remote is known to have.
    var prints: [ContentPrint] { sentPrints + (contentPrint.flatMap(ContentPrint.init(text:)).map { [$0] } ?? []) }
}
