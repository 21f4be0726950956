import Strata

/// The marks of sidecars. A sidecar is an object beside a file or a folder; its name is the node's name, `%` and the
/// mark.
enum Sidecar {
    /// The content of a folder. In encrypted accounts it is the file with all sections. Like every mark, it begins with
    /// a letter that is not a hexadecimal digit.
    static let content = "payload"
    static let metadata = "metadata"
    static let thumbnail = "thumbnail"
    static let all: Set = [content, metadata, thumbnail]

    /// The key of a node's section.
    ///
    /// - Parameter key: the key of the node.
    static func key(of key: RemoteKey, section: ContentSections, isFolder: Bool) -> RemoteKey {
        switch section {
        case .metadata: key.sidecar(metadata)
        case .thumbnail: key.sidecar(thumbnail)
        default: isFolder ? key.sidecar(content) : key
        }
    }

    /// The section of a mark.
    static func section(of mark: String) -> ContentSections {
        switch mark {
        case content: .data
        case metadata: .metadata
        default: .thumbnail
        }
    }
}

extension RemoteNode {
    /// The marks of the sidecars that a file or a folder may have. The content of a file is the file itself.
    static func marks(isFolder: Bool) -> [String] {
        (isFolder ? [Sidecar.content] : []) + [Sidecar.metadata, Sidecar.thumbnail]
    }

    /// Stores the version of a sidecar and keeps everything else that is known about the content.
    func setETag(_ eTag: ETag?, ofMark mark: String) {
        let section = Sidecar.section(of: mark)
        setETag(eTag?.stored, of: section)
        if section == .data { seal = seal?.moved(to: eTag) }
    }

    /// Stores the versions of the sidecars that a pull has found beside a file or a folder.
    func record(sidecars: [UTF8Text: RemoteObject]) {
        metadataETag = sidecars[UTF8Text(Sidecar.metadata)]?.eTag?.stored
        thumbnailETag = sidecars[UTF8Text(Sidecar.thumbnail)]?.eTag?.stored
        guard isFolder else { return }
        let content = sidecars[UTF8Text(Sidecar.content)]
        if !ETag.isSame(content?.eTag, eTag) { contentPrint = nil }
        (eTag, size, modifiedAt) = (content?.eTag?.stored, content?.size, content?.modifiedAt)
    }
}

extension RemoteNode.Row {
    /// The version of the sidecar with a mark.
    func eTag(ofMark mark: String) -> ETag? {
        let section = Sidecar.section(of: mark)
        return section == .data && !isFolder ? nil : eTag(of: section)
    }

    /// The marks of the sidecars that the remote has, or may have because an upload was not answered.
    var marks: [String] {
        RemoteNode.marks(isFolder: isFolder).filter { mark in
            eTag(ofMark: mark) != nil || !sentHashes(of: Sidecar.section(of: mark)).isEmpty
        }
    }

    /// Whether the sidecars that a pull has found have other versions than the known ones.
    func differs(from sidecars: [UTF8Text: RemoteObject]) -> Bool {
        RemoteNode.marks(isFolder: isFolder).contains { mark in
            !ETag.isSame(sidecars[UTF8Text(mark)]?.eTag, eTag(ofMark: mark)?.stored)
        }
    }
}

extension RemoteTree {
    /// The sidecars of an object. If a file and a folder have the same key, metadata and thumbnail belong to the file.
    func sidecars(of object: RemoteObject) -> [UTF8Text: RemoteObject] {
        let all = sidecars[object.key] ?? [:]
        guard object.isFolder, places.contains(RemoteLocation(key: object.key, isFolder: false)) else { return all }
        return all.filter { $0.key.string == Sidecar.content }
    }
}
