import Foundation
import Strata
import StrataPipeline

/// A part of an account's tree, in the state that this machine wants, for people who look into a store.
package struct TreeListing: Sendable {
    /// A node, its known state at the remote, and the work that is left for it.
    package struct Entry: Sendable {
        /// The number of the node's id.
        package let id: Int64
        package let path: TreePath
        /// The number of folders from the start of the listing to the node; 0 for the start itself.
        package let depth: Int
        package let isFolder: Bool
        /// Whether the folder contains nodes below the depth of the listing.
        package let hasMore: Bool
        /// Whether the remote is known to have the node.
        package let isAtRemote: Bool
        /// The size of the content at the remote in bytes; nil if unknown.
        package let size: Int64?
        /// The known version of the content at the remote.
        package let eTag: String?
        /// When the content was written, by the remote's clock.
        package let modifiedAt: Date?
        /// The sections that are marked for download.
        package let marked: ContentSections
        /// The number of queued operations of the node, by status.
        package let operations: [OperationStatus: Int]
        /// The sections in conflict; nil without a conflict.
        package let conflict: ContentSections?
    }

    /// The nodes: each folder before its children, which are ordered by name.
    package let entries: [Entry]
    /// Whether no node was left out because of the limit.
    package let isComplete: Bool
}

extension ObjectContext {
    /// The ids of the accounts in this store, in the order of their bytes. Accounts whose removal has begun are left
    /// out.
    package func cloudAccountIDs() throws -> [String] {
        try fetch(AccountRecord.where { $0.isBeingRemoved == false }).map(\.account).sortedByBytes()
    }
}

extension CloudContext {
    /// Lists a node and the nodes below it.
    ///
    /// - Parameters:
    ///   - start: the node to begin with.
    ///   - depth: the greatest number of folders from the start to a listed node; 0 for the start alone.
    ///   - limit: the greatest number of nodes.
    /// - Throws: errors of the store.
    /// - Complexity: one query for each listed folder, and four for all nodes together. Memory is O(limit × depth).
    package func listing(from start: CloudNode, depth: Int, limit: Int) throws -> TreeListing {
        var found: [(node: CloudNode, path: TreePath, depth: Int)] = []
        var waiting = [(node: start, path: start.path, depth: 0)]
        while found.count < limit, let next = waiting.popLast() {
            found.append(next)
            guard next.node.isFolder, next.depth < depth else { continue }
            // One child more than fits shows that nodes are left out.
            let children = try next.node.children(below: start, limit: limit - found.count + 1)
            for child in children.reversed() {
                waiting.append((node: child, path: next.path.appending(child.name), depth: next.depth + 1))
            }
        }
        return TreeListing(entries: try entries(for: found, depth: depth), isComplete: waiting.isEmpty)
    }

    /// What the store knows of nodes.
    ///
    /// - Parameter depth: the depth of the folders whose children are not listed.
    /// - Complexity: four queries, and one for each folder of this depth.
    func entries(
        for found: [(node: CloudNode, path: TreePath, depth: Int)],
        depth: Int
    ) throws -> [TreeListing.Entry] {
        let facts = try NodeFacts(of: found.map { $0.node.id }, self)
        return try found.map { node, path, level in
            let (number, remote) = (node.id.rawValue, facts.remotes[node.id.rawValue])
            return TreeListing.Entry(
                id: number,
                path: path,
                depth: level,
                isFolder: node.isFolder,
                hasMore: try node.isFolder && level >= depth && !node.children.isEmpty,
                isAtRemote: remote?.isCertain ?? false,
                size: remote?.size,
                eTag: remote?.eTag,
                modifiedAt: remote?.modifiedAt,
                marked: facts.marked[number] ?? [],
                operations: facts.operations[number] ?? [:],
                conflict: facts.conflicts[number]
            )
        }
    }
}

/// What the store knows about nodes besides their rows, by the numbers of their ids.
private struct NodeFacts {
    private(set) var remotes: [Int64: RemoteNode] = [:]
    private(set) var marked: [Int64: ContentSections] = [:]
    private(set) var operations: [Int64: [OperationStatus: Int]] = [:]
    private(set) var conflicts: [Int64: ContentSections] = [:]

    init(of ids: [ObjectID<CloudNode>], _ cloud: CloudContext) throws {
        let (context, pipeline) = (cloud.context, cloud.info.pipeline)
        for remote in try context.fetch(RemoteNode.where { $0.node.id.in(ids) }) {
            if let node = remote.node { remotes[node.id.rawValue] = remote }
        }
        for mark in try context.fetch(DownloadMark.where { $0.node.id.in(ids) }) {
            guard let node = mark.node else { continue }
            marked[node.id.rawValue, default: []].formUnion(ContentSections(rawValue: mark.section))
        }
        let numbers = ids.map(\.rawValue)
        // An operation is queued in the lane of its node.
        let lanes = numbers.map { String($0) }
        let queued = QueuedOperation.where { $0.pipeline == pipeline && $0.lane.in(lanes) }
        for ((lane, status), count) in try context.groups(queued.grouped { ($0.lane, $0.status) }, { $0.count }) {
            if let number = Int64(lane) { operations[number, default: [:]][status] = count }
        }
        for conflict in try context.fetch(CloudConflict.where { $0.nodeNumber.in(numbers) }) {
            conflicts[conflict.nodeNumber] = conflict.section
        }
    }
}
