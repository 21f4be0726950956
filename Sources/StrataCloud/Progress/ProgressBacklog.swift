import Strata
import StrataPipeline

/// What is left by the store of that which a progress is of: summed up, and by its nodes, so that what commits change can be changed here as well.
struct ProgressBacklog: Sendable {
    /// What is left of one node.
    struct Share: Sendable {
        var operations: Int32 = 0
        var failed: Int32 = 0
        /// Whether content is queued to be sent, and how large the newest is, where that was said.
        var isQueued = false
        var queuedSize: Int64?
        /// Which sections are marked whose bytes are transferred, and how large the data is, where that is known.
        var marked: ContentSections = []
        var dataSize: Int64?

        func size(of section: ContentSections) -> Int64? { section == .data ? dataSize : nil }
    }

    /// Files that are left.
    struct Files: Sendable {
        var count = 0
        var bytes: Int64 = 0
        /// How many of them are of unknown size.
        var unsized = 0

        /// A size that can be summed up: remotes may say anything.
        private static func plausible(_ size: Int64) -> Int64 { min(max(size, 0), 1 << 44) }

        mutating func add(_ size: Int64?, times count: Int = 1) {
            self.count += count
            if let size { bytes += Self.plausible(size) * Int64(count) } else { unsized += count }
        }
    }

    /// What is left of a node, with what says so.
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
    /// The nodes of operations and marks.
    private var lanes: [Int64: Int64] = [:]
    private var places: [Int64: Int64] = [:]

    /// What is left of a node.
    func share(of node: Int64) -> Share { shares[node] ?? Share() }

    // MARK: Changing

    /// Notes what is left of a node.
    mutating func set(_ reading: Reading, of node: Int64) {
        count(share(of: node), times: -1)
        count(reading.share, times: 1)
        // Marks that do not count may count as soon as their node has changed.
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

    /// What has to be looked at behind changes.
    struct Doubt: Sendable {
        var nodes: Set<Int64> = []
        /// Operations and marks that nothing is known of yet.
        var operations: [Int64] = []
        var marks: [Int64] = []
    }

    /// What of it changes concern. Operations and marks among them are known no more, until they are set anew.
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
