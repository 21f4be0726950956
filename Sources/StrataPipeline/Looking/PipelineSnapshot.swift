public import Foundation
public import Strata

/// What is queued in a pipeline, or a queue of a broker's, at one moment.
public struct PipelineSnapshot: Sendable, Hashable {
    /// A lane that does not go on.
    public struct BlockedLane: Sendable, Hashable {
        /// The lane; the empty text where there is none.
        public let lane: String
        /// The operation that all others of the lane wait for.
        public let head: ObjectID<QueuedOperation>
        /// Why that one does not run.
        public let blockers: [Blocker]
        /// When its last attempt began; nil where it had none.
        public let lastAttempt: Date?
        /// Since when it has been the trouble, as far as is known: its last attempt, or where it had none, its queueing.
        public let since: Date?
        /// How many operations wait behind it: without those that have failed, and in `commits` without those of its commit.
        public let waiting: Int
    }

    /// The name.
    public let name: PipelineName
    /// How many operations have which status.
    public let counts: [OperationStatus: Int]
    /// When the operation was queued that has been queued longest; nil where there is none.
    public let oldest: Date?
    /// Lanes whose first operation has failed, or waits for a moment, a constraint or a person, or directly for another operation that does.
    ///
    /// Of orderings that are serial; of very many, those among a thousand lanes in which anything is held or has failed, and a thousand in which
    /// anything waits for an operation elsewhere.
    public let blockedLanes: [BlockedLane]

    /// How many operations are queued.
    public var total: Int { counts.values.reduce(0, +) }
}

extension PipelineSnapshot: CustomStringConvertible {
    /// What is queued in words, and a line for each blocked lane, for logs and screens; not to be parsed.
    public var description: String {
        let states = counts.filter { $0.value > 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        var first = "\(name): " + (states.isEmpty ? "empty" : states.map { "\($1) \($0)" }.joined(separator: ", "))
        if let oldest { first += ", the oldest since \(oldest.inWords)" }
        return ([first.onOneLine] + blockedLanes.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension PipelineSnapshot.BlockedLane: CustomStringConvertible {
    /// Who blocks the lane, why, and how many wait, in words and on one line, for logs and screens; not to be parsed.
    public var description: String {
        let reasons = blockers.map(\.description).joined(separator: "; ")
        var text =
            (lane.isEmpty ? "" : "lane '\(lane)': ") + "\(head) " + (reasons.isEmpty ? "is about to go on" : reasons)
        if let since { text += " (since \(since.inWords))" }
        return (text + ", \(waiting) behind it").onOneLine
    }
}

extension ObjectContext {
    /// What is queued, by pipeline, for dashboards: as this context sees it.
    ///
    /// - Returns: one snapshot for each name under which operations are queued, in the order of the names.
    /// - Throws: what the store reports.
    /// - Complexity: O(operations that are queued).
    public func pipelineSnapshots() throws -> [PipelineSnapshot] {
        var counts: [PipelineName: [OperationStatus: Int]] = [:]
        for ((name, status), count) in try groups(QueuedOperation.grouped { ($0.pipeline, $0.status) }, { $0.count }) {
            counts[name, default: [:]][status] = count
        }
        let oldest = try groups(QueuedOperation.grouped { $0.pipeline }, { $0.minimum(\.enqueuedAt) })
        let dates = Dictionary(oldest.map { ($0.0, $0.1) }) { first, _ in first }
        return try counts.sorted { $0.key.rawValue.precedesByBytes($1.key.rawValue) }.map { name, counts in
            PipelineSnapshot(
                name: name,
                counts: counts,
                oldest: dates[name] ?? nil,
                blockedLanes: try blockedLanes(of: name)
            )
        }
    }

    private func blockedLanes(of name: PipelineName) throws -> [PipelineSnapshot.BlockedLane] {
        guard let record = try record(of: name), record.ordering.isSerial else { return [] }
        let standing = QueuedOperation.where { $0.pipeline == name && ($0.status == .held || $0.status == .failed) }
        let waiting = QueuedOperation.where { $0.pipeline == name && $0.status == .waiting }
        var lanes: [PipelineSnapshot.BlockedLane] = []
        for lane in try Set((names(of: standing) + names(of: waiting)).map(UTF8Text.init(_:))).sorted().map(\.string) {
            guard let head = try first(of: lane, in: record) else { continue }
            let blockers = try head.blockers()
            guard try head.status == .held || head.status == .failed || blockers.contains(where: stands) else {
                continue
            }
            lanes.append(
                PipelineSnapshot.BlockedLane(
                    lane: lane,
                    head: head.id,
                    blockers: blockers,
                    lastAttempt: head.startedAt,
                    since: head.startedAt ?? head.enqueuedAt,
                    waiting: try countWaiting(behind: head, in: record)
                )
            )
        }
        return lanes
    }

    /// The lanes of operations, of very many some.
    private func names(of operations: Query<QueuedOperation>) throws -> [String] {
        try groups(operations.grouped { $0.lane }.limit(1000)) { $0.count }.map(\.0)
    }

    /// Whether an operation waits for another one that does not go on by itself.
    private func stands(_ blocker: Blocker) throws -> Bool {
        guard case .dependency(let id) = blocker, let other = try find(id) else { return false }
        return other.status == .held || other.status == .failed
    }

    private func countWaiting(behind head: QueuedOperation, in record: PipelineRecord) throws -> Int {
        let (id, name, lane, sortKey, commit) = (head.id, head.pipeline, head.lane, head.sortKey, head.commit)
        let others = QueuedOperation.where {
            $0.pipeline == name && $0.lane == lane && $0.id != id && $0.status != .failed && $0.status != .active
        }
        guard record.ordering == .commits else { return try count(others) }
        return try count(others.where { $0.sortKey != sortKey || $0.commit != commit })
    }
}
