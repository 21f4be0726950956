import Strata
import StrataPipeline

extension ProgressBacklog {
    /// Reads all remaining work.
    ///
    /// - Complexity: O(queued operations + marks), multiplied by the depth for a folder; for a node, O(its operations
    ///   and marks).
    static func read(
        _ scope: ProgressScope,
        _ cloud: CloudContext,
        _ nodes: inout ProgressNodes,
        _ policy: DownloadPolicy
    ) throws -> Self {
        let found = try readings(scope.operations(cloud), scope.marks(cloud), cloud, &nodes, policy)
        var backlog = Self()
        for (node, reading) in found { backlog.set(reading, of: node) }
        return backlog
    }

    /// Reads the remaining work of the nodes that may have changed.
    ///
    /// - Complexity: O(nodes, operations and marks in doubt). One statement reads the operations of all these nodes.
    static func read(
        _ doubt: Doubt,
        _ cloud: CloudContext,
        _ nodes: inout ProgressNodes,
        _ policy: DownloadPolicy
    ) throws -> [Int64: Reading] {
        let (context, info) = (cloud.context, cloud.info)
        var numbers = doubt.nodes
        let operations = doubt.operations.map { cloud.nodeID($0).counterpart(QueuedOperation.self) }
        for row in try context.rows(QueuedOperation.where { $0.id.in(operations) }) where row.pipeline == info.pipeline
        {
            if let node = Int64(row.lane) { numbers.insert(node) }
        }
        let marks = doubt.marks.map { cloud.nodeID($0).counterpart(DownloadMark.self) }
        for mark in try context.fetch(DownloadMark.where { $0.id.in(marks) }) {
            if let node = mark.node, node.account == info.account { numbers.insert(node.id.rawValue) }
        }
        let wanted = try numbers.filter { try nodes.contains($0) }
        let (pipeline, lanes) = (info.pipeline, wanted.map { String($0) })
        let ids = wanted.map { cloud.nodeID($0) }
        let found = try readings(
            QueuedOperation.where { $0.pipeline == pipeline && $0.lane.in(lanes) },
            DownloadMark.where { $0.node.id.in(ids) },
            cloud,
            &nodes,
            policy
        )
        // A node without rows, or one that has left the scope, has no remaining work in it.
        return found.merging(numbers.map { ($0, Reading()) }) { reading, _ in reading }
    }

    /// Reads the remaining work of the nodes in the scope from their operations and marks.
    private static func readings(
        _ operations: Query<QueuedOperation>,
        _ marks: Query<DownloadMark>,
        _ cloud: CloudContext,
        _ nodes: inout ProgressNodes,
        _ policy: DownloadPolicy
    ) throws -> [Int64: Reading] {
        var readings: [Int64: Reading] = [:]
        var newest: [Int64: Int64] = [:]
        try cloud.context.forEachRow(operations) { row in
            guard let node = Int64(row.lane), try nodes.contains(node) else { return }
            try readings[node, default: Reading()].add(row, &newest[node, default: 0])
        }
        for mark in try cloud.context.fetch(marks) {
            guard let node = mark.node, try nodes.contains(node.id.rawValue) else { continue }
            readings[node.id.rawValue, default: Reading()].add(mark, node, cloud, policy)
        }
        return readings
    }
}

extension ProgressBacklog.Reading {
    /// - Parameter newest: the newest operation so far that uploads content.
    fileprivate mutating func add(_ row: QueuedOperation.Row, _ newest: inout Int64) throws {
        operations.append(row.id.rawValue)
        share.operations += 1
        if row.status == .failed { share.failed += 1 }
        guard row.id.rawValue >= newest,
            case .content(_, _, let upload) = try CloudWork.decoded(row.payload, version: row.payloadVersion)
        else { return }
        newest = row.id.rawValue
        (share.isQueued, share.queuedSize) = (true, upload.size)
    }

    /// Adds a mark. Marked sections that will not be downloaded do not count as left.
    fileprivate mutating func add(
        _ mark: DownloadMark,
        _ node: CloudNode,
        _ cloud: CloudContext,
        _ policy: DownloadPolicy
    ) {
        marks.append(mark.id.rawValue)
        let section = ContentSections(rawValue: mark.section)
        // Headers are not files.
        guard section != .header, policy.counts(node.snapshot, section), cloud.mayDownload(section, of: node) else {
            return
        }
        share.marked.insert(section)
        share.dataSize = node.remote?.size
    }
}

/// Determines which nodes are in a scope, and caches the results.
struct ProgressNodes {
    private let scope: ProgressScope
    private let cloud: CloudContext
    /// The cached results; only used for folders.
    private(set) var answers: [Int64: Bool] = [:]

    init(_ scope: ProgressScope, _ cloud: CloudContext) { (self.scope, self.cloud) = (scope, cloud) }

    mutating func contains(_ number: Int64) throws -> Bool {
        switch scope {
        case .account: return true
        case .node(let node): return number == node
        case .below(let folder):
            if let answer = answers[number] { return answer }
            var way: Set<Int64> = [number]
            var answer = false
            var next = try cloud.context.find(cloud.nodeID(number))
            while let node = next {
                if node.id.rawValue == folder {
                    answer = true
                    break
                }
                way.insert(node.id.rawValue)
                next = node.parent
                guard let parent = next?.id.rawValue else { break }
                if let known = answers[parent] {
                    answer = known
                    break
                }
                // In a damaged store, folders may form a ring.
                if way.contains(parent) { break }
            }
            for number in way { answers[number] = answer }
            return answer
        }
    }
}

extension ProgressScope {
    fileprivate func operations(_ cloud: CloudContext) -> Query<QueuedOperation> {
        if case .node(let node) = self { return cloud.queued(for: node) }
        let pipeline = cloud.info.pipeline
        return QueuedOperation.where { $0.pipeline == pipeline }
    }

    fileprivate func marks(_ cloud: CloudContext) -> Query<DownloadMark> {
        let account = cloud.account
        guard case .node(let number) = self else { return DownloadMark.where { $0.node.account == account } }
        let node = cloud.nodeID(number)
        return DownloadMark.where { $0.node == node }
    }
}
