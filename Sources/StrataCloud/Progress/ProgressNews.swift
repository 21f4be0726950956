import Strata
import StrataPipeline
import Synchronization

/// Collects the changes of commits that affect the remaining work, until a reader takes them.
final class ProgressNews: Sendable {
    struct Changes: Sendable {
        /// Whether the changes are unknown, so that everything may have changed.
        var isUnknown = false
        var operations: Set<Int64> = []
        var marks: Set<Int64> = []
        /// Nodes that were changed or deleted, or whose remote state was changed.
        var nodes: Set<Int64> = []
        /// Whether nodes were moved to other folders.
        var hasMoves = false
    }

    private let changes = Mutex(Changes())
    private let listening = Mutex<CommitListening?>(nil)
    /// The largest number of changes that are worth reading one by one. Above it, everything is read again.
    private static let limit = 1 << 16

    /// - Parameter ring: called after changes were collected.
    init(_ stack: ContextStack, ring: @escaping @Sendable () -> Void) {
        let listening = stack.listen { [weak self] news in
            self?.collect(news)
            ring()
        }
        self.listening.withLock { $0 = listening }
    }

    private func collect(_ news: [ChangeSet]?) {
        changes.withLock { changes in
            guard let news, !changes.isUnknown else { return changes = Changes(isUnknown: true) }
            for set in news { changes.collect(set) }
            let count = changes.operations.count + changes.marks.count + changes.nodes.count
            if count > Self.limit { changes = Changes(isUnknown: true) }
        }
    }

    /// The changes since the last call.
    func drainChanges() -> Changes {
        changes.withLock { changes in
            defer { changes = Changes() }
            return changes
        }
    }
}

extension ProgressNews.Changes {
    fileprivate mutating func collect(_ set: ChangeSet) {
        let operations = set.of(QueuedOperation.self)
        for ids in [operations.inserted, operations.updated, operations.deleted] {
            self.operations.formUnion(ids.lazy.map(\.rawValue))
        }
        let marks = set.of(DownloadMark.self)
        for ids in [marks.inserted, marks.updated, marks.deleted] { self.marks.formUnion(ids.lazy.map(\.rawValue)) }
        let nodes = set.of(CloudNode.self)
        if nodes.updated.contains(where: { nodes.updatedColumns(of: $0).contains("parent") }) { hasMoves = true }
        // A download policy depends on the names and places of nodes.
        for ids in [nodes.updated, nodes.deleted] { self.nodes.formUnion(ids.lazy.map(\.rawValue)) }
        // The remote state of a node has the same number as the node.
        self.nodes.formUnion(set.of(RemoteNode.self).updated.lazy.map(\.rawValue))
    }
}
