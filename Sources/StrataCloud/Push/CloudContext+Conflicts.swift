import Strata
import StrataPipeline

extension CloudContext {
    /// The unresolved conflicts of the account, oldest first.
    public func conflicts() throws -> [CloudConflict] {
        let account = account
        return try context.fetch(CloudConflict.where { $0.account == account })
    }

    /// Resolves a conflict. The resolution takes effect with the commit.
    ///
    /// - Parameters:
    ///   - conflict: the conflict.
    ///   - resolution: the version that counts.
    ///   - name: the name of the new node for `.both`, with a number appended if the name is taken; by default the
    ///     node's name.
    /// - Throws: ``CloudError`` with `invalidName`; with `notAFile` for `.both` and a conflict of a folder that does
    ///   not contain its content; errors of the store.
    public func resolve(_ conflict: CloudConflict, _ resolution: ConflictResolution, name: String? = nil) throws {
        guard let node = conflict.node else { return context.delete(conflict) }
        // A copy whose source never arrived at the remote is an upload.
        let uploads = try operations(for: node).filter {
            [.content, .copy].contains(try $0.payload(as: CloudWork.self).kind)
        }
        guard let remote = node.remote else {
            // The other version is deleted, so no decision is left to make.
            for upload in uploads { upload.retry() }
            return context.delete(conflict)
        }
        // The only step that can fail runs before any change.
        if resolution == .both { try keepMine(of: node, conflict, uploads, name: name ?? node.name) }
        remote.adoptVersion(of: conflict, isEncrypted: info.isEncrypted)
        remote.sending = []
        switch resolution {
        case .merged, .mine:
            for upload in uploads { upload.retry() }
        case .theirs, .both:
            for upload in uploads { upload.skip() }
            let data: ContentSections = resolution == .both ? .data : []
            markNeedsDownload(node, info.isEncrypted ? .given : conflict.section.union(data))
        }
        context.delete(conflict)
    }

    /// Gives the node the remote's version, and creates a new node for this machine's version.
    private func keepMine(
        of node: CloudNode,
        _ conflict: CloudConflict,
        _ uploads: [QueuedOperation],
        name: String
    ) throws {
        guard !node.isFolder || conflict.section.contains(.data) else {
            throw CloudError(
                .notAFile,
                "\(node.path) is a folder, and folders cannot be duplicated. Resolve the conflict with `.merged`, "
                    + "`.mine` or `.theirs`.",
                nodes: [node.id.rawValue]
            )
        }
        guard let parent = node.parent else { return }
        let name = try freeName(for: name, in: parent)
        let sections = node.remote?.snapshot.sections(isEncrypted: info.isEncrypted) ?? .data
        let link = node.link
        node.link = nil
        if conflict.section.contains(.data) {
            try create(name, in: parent, isFolder: false, link: link, sections: sections.union(.data))
            return
        }
        // The data may be missing on this machine, so the remote copies it. The upload then replaces the sections of
        // this machine.
        let copy = try create(name, in: parent, isFolder: false, link: link, sections: [])
        try queueCopy(of: node, to: copy, in: parent, sections.union(.data))
        let mine = try uploads.reduce(into: conflict.section) { sections, upload in
            sections.formUnion(try upload.payload(as: CloudWork.self).sections ?? .data)
        }
        try self.upload(copy, mine)
    }

    /// Deletes a conflict that has ended without a resolution.
    func forgetConflict(of number: Int64) throws {
        if let conflict = try context.first(CloudConflict.where({ $0.nodeNumber == number })) {
            context.delete(conflict)
        }
    }

    func setName(_ name: String, of node: CloudNode) { (node.name, node.place) = (name, info.rule.normalized(name)) }
}

extension RemoteNode {
    /// Stores the known facts about the version in the conflict, and clears the facts about the previous version.
    fileprivate func adoptVersion(of conflict: CloudConflict, isEncrypted: Bool) {
        // An encrypted file with all sections has one version.
        let section = isEncrypted ? .data : conflict.section
        setETag(conflict.remoteETag, of: section)
        guard section == .data else { return }
        size = conflict.remoteSize
        (modifiedAt, contentPrint, seal) = (nil, nil, nil)
    }

    func setETag(_ text: String?, of section: ContentSections) {
        switch section {
        case .data: eTag = text
        case .metadata: metadataETag = text
        case .thumbnail: thumbnailETag = text
        default: break
        }
    }
}
