import Strata

extension CloudContext {
    /// Marks sections of a node as to be downloaded, beside those that are marked already.
    ///
    /// The marks are for the version that the context shows; one that is marked for an older version stays so.
    ///
    /// Of a folder only those sections are marked that the remote is known to have, and the others are ignored: most folders have none, so that a
    /// program that marks all that it pulls marks nothing of them. A file may be marked before its content is at the remote.
    public func markNeedsDownload(_ node: CloudNode, _ sections: ContentSections = .all) {
        for section in sections.elements where mayDownload(section, of: node) {
            let bit = section.rawValue
            let eTag = node.remote?.snapshot.eTag(of: section, isSealed: facts.isSealed)?.stored
            let isMarked = (try? context.exists(DownloadMark.of(node, bit).where { $0.eTag == eTag })) ?? false
            if !isMarked { context.insert(DownloadMark(node: node, section: bit, eTag: eTag)) }
        }
    }

    /// Whether a section of a node may be downloaded, now or later: any of a file, and of a folder what the remote is known to have.
    func mayDownload(_ section: ContentSections, of node: CloudNode) -> Bool {
        !node.isFolder || node.remote?.snapshot.mayHave(section, isSealed: facts.isSealed) ?? false
    }

    /// Takes back the marks of folders for sections that the remote does not have, which nothing would ever take back: such as were made by earlier
    /// versions, and those whose section others have deleted.
    ///
    /// - Returns: whether there were any.
    /// - Complexity: O(marks of the account), and a look at the folders among them.
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

    /// Takes back the marks of sections: those of a version, or of all.
    ///
    /// - Parameter eTag: the version that has been downloaded. If it is the newest version that is known of the remote, all earlier marks go with its
    ///   own, since those versions will never arrive. Otherwise only the marks of that very version go, so that nothing is missed that has
    ///   come meanwhile: marks of other versions stay, and so do marks that were made before any version was known. Nil takes back all marks.
    public func unmarkNeedsDownload(
        _ node: CloudNode,
        _ sections: ContentSections = .all,
        ifETagMatches eTag: ETag? = nil
    ) throws {
        for section in sections.elements {
            let newest = node.remote?.snapshot.eTag(of: section, isSealed: facts.isSealed)
            let isNewest = eTag.map { ETag.isSame($0, newest?.stored) } ?? true
            for mark in try context.fetch(DownloadMark.of(node, section.rawValue)) {
                if !isNewest, let eTag, !(mark.eTag.map { ETag.isSame(eTag, $0) } ?? false) { continue }
                context.delete(mark)
            }
        }
    }

    /// Whether any of these sections of a node is marked.
    public func isMarkedForDownload(_ node: CloudNode, _ sections: ContentSections = .all) throws -> Bool {
        try !markedSections(of: node).isDisjoint(with: sections)
    }

    /// Whether a section of a node is marked, which may be deleted by now.
    func isMarked(_ number: Int64, _ section: ContentSections) throws -> Bool {
        let (id, bit) = (nodeID(number), section.rawValue)
        return try context.exists(DownloadMark.where { $0.node == id && $0.section == bit })
    }

    /// The sections of a node that are marked.
    public func markedSections(of node: CloudNode) throws -> ContentSections {
        let id = node.id
        return try context.fetch(DownloadMark.where { $0.node == id }).reduce(into: []) {
            $0.formUnion(ContentSections(rawValue: $1.section))
        }
    }

    /// The nodes of the account of which any of these sections is marked.
    public func nodesMarkedForDownload(_ sections: ContentSections = .all) throws -> [CloudNode] {
        let (account, bits) = (account, sections.elements.map(\.rawValue))
        return try context.fetch(CloudNode.where { $0.account == account && $0.marks.any { $0.section.in(bits) } })
    }
}

extension DownloadMark {
    fileprivate static func of(_ node: CloudNode, _ section: Int) -> Query<DownloadMark> {
        let id = node.id
        return DownloadMark.where { $0.node == id && $0.section == section }
    }
}
