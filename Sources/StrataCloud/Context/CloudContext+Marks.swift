import Strata

extension CloudContext {
    /// Marks sections of a node for download, in addition to the sections that are already marked.
    ///
    /// The marks are for the version that the context shows. An existing mark for an older version stays.
    ///
    /// For a folder, only the sections that the remote is known to have are marked; the other sections are ignored.
    /// Most folders do not have content, so a program that marks everything that it pulls does not mark these folders.
    /// A file may be marked before its content is at the remote.
    public func markNeedsDownload(_ node: CloudNode, _ sections: ContentSections = .all) {
        for section in sections.elements where mayDownload(section, of: node) {
            let bit = section.rawValue
            let eTag = node.remote?.snapshot.eTag(of: section, isEncrypted: info.isEncrypted)?.stored
            let isMarked = (try? context.exists(DownloadMark.of(node.id, bit).where { $0.eTag == eTag })) ?? false
            if !isMarked { context.insert(DownloadMark(node: node, section: bit, eTag: eTag)) }
        }
    }

    /// Whether a section of a node may be downloaded, now or later.
    ///
    /// Each section of a file may; a section of a folder may if the remote is known to have it.
    func mayDownload(_ section: ContentSections, of node: CloudNode) -> Bool {
        !node.isFolder || node.remote?.snapshot.mayHave(section, isEncrypted: info.isEncrypted) ?? false
    }

    /// Removes the marks of folders for sections that the remote does not have.
    ///
    /// No download would ever remove these marks. Earlier versions made these marks, or another client has deleted
    /// their section.
    ///
    /// - Returns: whether any mark was removed.
    /// - Complexity: O(marks of folders in the account).
    func removeMarksInVain() throws -> Bool {
        let account = account
        var areAny = false
        for mark in try context.fetch(DownloadMark.where { $0.node.account == account && $0.node.isFolder == true }) {
            guard let node = mark.node, !mayDownload(ContentSections(rawValue: mark.section), of: node) else {
                continue
            }
            context.delete(mark)
            areAny = true
        }
        return areAny
    }

    /// Removes the marks of sections, for one version or for all versions.
    ///
    /// - Parameters:
    ///   - node: the marked node.
    ///   - sections: the sections whose marks are removed.
    ///   - eTag: the version that has been downloaded; nil removes all marks. If it is the newest known version at the
    ///     remote, the marks of all earlier versions are removed too, because those versions will never arrive.
    ///     Otherwise only the marks of exactly this version are removed. Marks of other versions stay, and so do marks
    ///     made before any version was known. So no version that arrived meanwhile is missed.
    public func unmarkNeedsDownload(
        _ node: CloudNode,
        _ sections: ContentSections = .all,
        ifETagMatches eTag: ETag? = nil
    ) throws {
        for section in sections.elements {
            let newest = node.remote?.snapshot.eTag(of: section, isEncrypted: info.isEncrypted)
            let isNewest = eTag.map { ETag.isSame($0, newest?.stored) } ?? true
            for mark in try context.fetch(DownloadMark.of(node.id, section.rawValue)) {
                if !isNewest, let eTag, !(mark.eTag.map { ETag.isSame(eTag, $0) } ?? false) { continue }
                context.delete(mark)
            }
        }
    }

    /// Whether any of these sections of a node is marked.
    public func isMarkedForDownload(_ node: CloudNode, _ sections: ContentSections = .all) throws -> Bool {
        try !markedSections(of: node).isDisjoint(with: sections)
    }

    /// Whether a section of a node is marked. The node may be deleted already.
    func isMarked(_ number: Int64, _ section: ContentSections) throws -> Bool {
        try context.exists(DownloadMark.of(nodeID(number), section.rawValue))
    }

    /// The marked sections of a node.
    public func markedSections(of node: CloudNode) throws -> ContentSections {
        let id = node.id
        return try context.fetch(DownloadMark.where { $0.node == id }).reduce(into: []) {
            $0.formUnion(ContentSections(rawValue: $1.section))
        }
    }

    /// The nodes of the account that have a mark for any of these sections.
    public func nodesMarkedForDownload(_ sections: ContentSections = .all) throws -> [CloudNode] {
        let (account, bits) = (account, sections.elements.map(\.rawValue))
        return try context.fetch(CloudNode.where { $0.account == account && $0.marks.any { $0.section.in(bits) } })
    }
}

extension DownloadMark {
    fileprivate static func of(_ node: ObjectID<CloudNode>, _ section: Int) -> Query<DownloadMark> {
        DownloadMark.where { $0.node == node && $0.section == section }
    }
}
