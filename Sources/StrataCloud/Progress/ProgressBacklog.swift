import Strata
import StrataPipeline

/// The remaining work of a scope according to the store, as a sum and by node. The node values allow updating the sum
/// with the changes of each commit.
struct ProgressBacklog: Sendable {
    /// The remaining work of one node.
    struct Share: Sendable {
        var operations: Int32 = 0
        var failed: Int32 = 0
        /// Whether an upload of content is queued, and the size of the newest one, if the application has given it.
        var isQueued = false
        var queuedSize: Int64?
        /// The marked sections that will be downloaded, and the size of the data, if known.
        var marked: ContentSections = []
        var dataSize: Int64?

        func size(of section: ContentSections) -> Int64? { section == .data ? dataSize : nil }
    }

    /// Remaining files.
    struct Files: Sendable {
        var count = 0
        var bytes: Int64 = 0
        /// The number of files with unknown size.
        var unsized = 0

        /// Limits a size, so that sums cannot overflow: a remote may report any size.
        private static func plausible(_ size: Int64) -> Int64 { min(max(size, 0), 1 << 44) }

        mutating func add(_ size: Int64?, times count: Int = 1) {
            self.count += count
            if let size { bytes += Self.plausible(size) * Int64(count) } else { unsized += count }
        }
    }

    /// The remaining work of a node, with the operations and marks that it was read from.
    struct Reading: Sendable {
        var share = Share()
        var operations: [Int64] = []
        var marks: [Int64] = []
    }

    private(set) var operations = 0
    private(set) var failed = 0
    private(set) var queued = Files()
    private(set) var marked = Files()
    private var shares: [Int64: Share] = [:]
    /// The node of each operation, and of each mark.
    private var lanes: [Int64: Int64] = [:]
    private var places: [Int64: Int64] = [:]

    /// The remaining work of a node.
    func share(of node: Int64) -> Share { shares[node] ?? Share() }

    // MARK: Changing

    /// Replaces the remaining work of a node.
    mutating func set(_ reading: Reading, of node: Int64) {
        count(share(of: node), times: -1)
        count(reading.share, times: 1)
        // Marks that do not count now may count after a change of their node, so the node is kept.
        let isEmpty = reading.share.operations == 0 && reading.marks.isEmpty
        shares[node] = isEmpty ? nil : reading.share
        for operation in reading.operations { lanes[operation] = node }
        for mark in reading.marks { places[mark] = node }
    }

    private mutating func count(_ share: Share, times count: Int) {
        operations += Int(share.operations) * count
        failed += Int(share.failed) * count
        if share.isQueued { queued.add(share.queuedSize, times: count) }
        for section in share.marked.elements { marked.add(share.size(of: section), times: count) }
    }

    /// The rows to read again after changes.
    struct Doubt: Sendable {
        var nodes: Set<Int64> = []
        /// Operations and marks whose nodes are unknown.
        var operations: [Int64] = []
        var marks: [Int64] = []
    }

    /// The rows of the backlog that the changes affect. Changed operations and marks are removed from the index until
    /// they are set again.
    mutating func doubt(_ changes: ProgressNews.Changes) -> Doubt {
        var doubt = Doubt(nodes: changes.nodes.filter { shares[$0] != nil })
        for number in changes.operations {
            if let node = lanes.removeValue(forKey: number) {
                doubt.nodes.insert(node)
            } else {
                doubt.operations.append(number)
            }
        }
        for number in changes.marks {
            if let node = places.removeValue(forKey: number) {
                doubt.nodes.insert(node)
            } else {
                doubt.marks.append(number)
            }
        }
        return doubt
    }
}
