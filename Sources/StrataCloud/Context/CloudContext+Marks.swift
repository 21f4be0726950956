import Strata

extension CloudContext {
    /// Marks sections of a node as to be downloaded, beside those that are marked already.
    ///
    /// The marks are for the version that the context shows; one that is marked for an older version stays so.
    public func markNeedsDownload(_ node: CloudNode, _ sections: ContentSections = .all) {
        for section in sections.elements {
            let bit = section.rawValue
            let eTag = node.remote?.snapshot.eTag(of: section, isSealed: facts.isSealed)?.stored
            let isMarked = (try? context.exists(DownloadMark.of(node, bit).where { $0.eTag == eTag })) ?? false
            if !isMarked { context.insert(DownloadMark(node: node, section: bit, eTag: eTag)) }
        }
    }

    /// Takes back the marks of sections: those of a version, or of all.
    ///
    /// - Parameter eTag: the version that has been downloaded. Where it is the one that the remote is known to have, the marks of earlier ones go
    ///   with its own, since those will never arrive; where it is not, the marks of others stay, so that nothing is missed that has come meanwhile.
    public func unmarkNeedsDownload(
        _ node: CloudNode,
        _ sections: ContentSections = .all,
        ifETagMatches eTag: ETag? = nil
    ) throws {
        for section in sections.elements {
            let newest = node.remote?.snapshot.eTag(of: section, isSealed: facts.isSealed)
            let isNewest = eTag.map { ETag.isSame($0, newest?.stored) } ?? true
            for mark in try context.fetch(DownloadMark.of(node, section.rawValue)) {
                if !isNewest, let eTag, let marked = mark.eTag, !ETag.isSame(eTag, marked) { continue }
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
