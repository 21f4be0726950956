public import Foundation
public import Strata

/// A summary of a pipeline, or of a broker's queue, at one moment.
public struct PipelineSnapshot: Sendable, Hashable {
    /// A lane that does not make progress.
    public struct BlockedLane: Sendable, Hashable {
        /// The lane; the empty text if operations have no lane.
        public let lane: String
        /// The operation that all other operations of the lane wait for.
        public let head: ObjectID<QueuedOperation>
        /// The reasons why the head does not run.
        public let waitReasons: [WaitReason]
        /// When the head's last attempt began; nil if it had none.
        public let lastAttempt: Date?
        /// Since when the head blocks the lane, as far as is known: the start of its last attempt, or else the time
        /// when it was queued.
        public let since: Date?
        /// How many operations wait for the head. Failed operations do not count, and in `commits` neither do
        /// operations of the head's commit.
        public let waiting: Int
    }

    /// The name of the pipeline or queue.
    public let name: PipelineName
    /// The number of operations by status.
    public let counts: [OperationStatus: Int]
    /// When the oldest queued operation was queued; nil if nothing is queued.
    public let oldest: Date?
    /// The operator's pause that is in effect in all processes; nil if the pipeline or queue is not paused.
    public let pause: PipelineSettings.Change?
    /// The lanes whose first operation has failed, or waits for a date, a constraint, a person, a process with a
    /// handler for its type, or directly for another operation in such a state.
    ///
    /// Only serial orderings have blocked lanes. The search has three limits: a thousand lanes with held or failed
    /// operations, a thousand lanes with operations that wait for another operation, and a thousand lanes with
    /// operations that have no handler in this process.
    public let blockedLanes: [BlockedLane]

    /// The number of queued operations.
    public var total: Int { counts.values.reduce(0, +) }
}

extension PipelineSnapshot: CustomStringConvertible {
    /// The summary in words, with a line for each blocked lane, for logs and screens. Do not parse the text.
    public var description: String {
        let states = counts.filter { $0.value > 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        var first = "\(name): " + (states.isEmpty ? "empty" : states.map { "\($1) \($0)" }.joined(separator: ", "))
        if let pause { first += ", paused by \(pause.by) since \(pause.at.inWords)" }
        if let oldest { first += ", the oldest since \(oldest.inWords)" }
        return ([first.onOneLine] + blockedLanes.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension PipelineSnapshot.BlockedLane: CustomStringConvertible {
    /// The blocking operation, the reasons and the number of waiting operations in words on one line, for logs and
    /// screens. Do not parse the text.
    public var description: String {
        let reasons = waitReasons.map(\.description).joined(separator: "; ")
        var text =
            (lane.isEmpty ? "" : "lane '\(lane)': ") + "\(head) " + (reasons.isEmpty ? "is about to continue" : reasons)
        if let since { text += " (since \(since.inWords))" }
        return (text + ", \(waiting) waiting").onOneLine
    }
}

extension ObjectContext {
    /// Summaries of all queues for dashboards, as this context sees them.
    ///
    /// - Returns: one snapshot for each name under which operations are queued, sorted by name.
    /// - Throws: the store's errors.
    /// - Complexity: O(queued operations). If a pipeline has a rate limit, also a lookup of its tokens for each lane
    ///   that may be blocked.
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
                pause: try pause(of: name),
                blockedLanes: try blockedLanes(of: name)
            )
        }
    }

    private func blockedLanes(of name: PipelineName) throws -> [PipelineSnapshot.BlockedLane] {
        guard let record = try record(of: name), record.ordering.isSerial else { return [] }
        let stuck = QueuedOperation.where { $0.pipeline == name && ($0.status == .held || $0.status == .failed) }
        let waiting = QueuedOperation.where { $0.pipeline == name && $0.status == .waiting }
        var names = try names(of: stuck) + names(of: waiting)
        if let types = claimedTypes(of: name) {
            names += try self.names(
                of: QueuedOperation.where { $0.pipeline == name && $0.status == .pending && !$0.type.in(types) }
            )
        }
        var lanes: [PipelineSnapshot.BlockedLane] = []
        for lane in Set(names.map(UTF8Text.init(_:))).sorted().map(\.string) {
            guard let head = try first(of: lane, in: record) else { continue }
            let waitReasons = try head.waitReasons()
            guard try head.status == .held || head.status == .failed || waitReasons.contains(where: isStuck) else {
                continue
            }
            lanes.append(
                PipelineSnapshot.BlockedLane(
                    lane: lane,
                    head: head.id,
                    waitReasons: waitReasons,
                    lastAttempt: head.startedAt,
                    since: head.startedAt ?? head.enqueuedAt,
                    waiting: try countWaiting(behind: head, in: record)
                )
            )
        }
        return lanes
    }

    /// The lanes of operations, at most a thousand.
    private func names(of operations: Query<QueuedOperation>) throws -> [String] {
        try groups(operations.grouped { $0.lane }.limit(1000)) { $0.count }.map(\.0)
    }

    /// Whether the reason is a missing handler, or another operation that does not continue by itself.
    private func isStuck(_ waitReason: WaitReason) throws -> Bool {
        if case .noHandler = waitReason { return true }
        guard case .dependency(let id) = waitReason, let other = try find(id) else { return false }
        return other.status == .held || other.status == .failed || other.status != .active && hasNoHandler(for: other)
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
