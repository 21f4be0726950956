import Strata

/// The marks of sidecars: objects beside a file or a folder, under its name, `%` and the mark.
enum Sidecar {
    /// The content of a folder. In encrypted accounts it is the file of all sections. As any mark, it begins with a
    /// letter that is not a hexadecimal digit.
    static let content = "payload"
    static let metadata = "metadata"
    static let thumbnail = "thumbnail"
    static let record = "record"
    static let all: Set = [content, metadata, thumbnail, record]

    /// Where a section of a node lies.
    ///
    /// - Parameter key: where the node lies.
    static func key(_ key: RemoteKey, _ section: ContentSections, isFolder: Bool) -> RemoteKey {
        switch section {
        case .metadata: key.sidecar(metadata)
        case .thumbnail: key.sidecar(thumbnail)
        default: isFolder ? key.sidecar(content) : key
        }
    }

    /// The section that lies under a mark; nil for records, which are not content.
    static func section(of mark: String) -> ContentSections? {
        switch mark {
        case content: .data
        case metadata: .metadata
        case thumbnail: .thumbnail
        default: nil
        }
    }
}

extension RemoteNode {
    /// The marks under which something may lie beside a file or a folder. The content of a file is the file itself.
    static func marks(isFolder: Bool) -> [String] {
        (isFolder ? [Sidecar.content] : []) + [Sidecar.metadata, Sidecar.thumbnail, Sidecar.record]
    }

    /// Writes down the version of what lies beside this, and keeps all that is known of its content.
    func setETag(_ eTag: ETag?, ofMark mark: String) {
        guard let section = Sidecar.section(of: mark) else { return recordETag = eTag?.stored }
        setETag(eTag?.stored, of: section)
        if section == .data { seal = seal?.moved(to: eTag) }
    }

    /// Takes over the versions that a pull has found beside a file or a folder.
    func note(sidecars: [UTF8Text: RemoteObject]) {
        metadataETag = sidecars[UTF8Text(Sidecar.metadata)]?.eTag?.stored
        thumbnailETag = sidecars[UTF8Text(Sidecar.thumbnail)]?.eTag?.stored
        guard isFolder else { return }
        let content = sidecars[UTF8Text(Sidecar.content)]
        if !ETag.isSame(content?.eTag, eTag) { contentPrint = nil }
        (eTag, size, modifiedAt) = (content?.eTag?.stored, content?.size, content?.modifiedAt)
    }
}

extension RemoteNode.Row {
    /// The version of what lies beside this under a mark.
    func eTag(ofMark mark: String) -> ETag? {
        guard let section = Sidecar.section(of: mark) else { return recordETag.map { ETag(stored: $0) } }
        return section == .data && !isFolder ? nil : eTag(of: section)
    }

    /// The marks of what the remote has beside this, or may have since something was sent without an answer.
    var marks: [String] {
        RemoteNode.marks(isFolder: isFolder).filter { mark in
            if eTag(ofMark: mark) != nil { return true }
            return Sidecar.section(of: mark).map { !sentPrints(of: $0).isEmpty } ?? false
        }
    }

    /// Whether a pull has found other versions beside a file or a folder than those that are known.
    func differs(from sidecars: [UTF8Text: RemoteObject]) -> Bool {
        RemoteNode.marks(isFolder: isFolder).contains { mark in
            mark != Sidecar.record && !ETag.isSame(sidecars[UTF8Text(mark)]?.eTag, eTag(ofMark: mark)?.stored)
        }
    }
}

extension RemoteTree {
    /// What lies beside an object. If a file and a folder have the same key, metadata and thumbnail belong to the file.
    func sidecars(of object: RemoteObject) -> [UTF8Text: RemoteObject] {
        let all = sidecars[object.key] ?? [:]
        guard object.isFolder, places.contains(RemotePlace(key: object.key, isFolder: false)) else { return all }
        return all.filter { $0.key.string == Sidecar.content }
    }
}
