import Foundation
import Strata

/// Rate limits of lanes.
///
/// An operation without a token is marked as waiting, as in a full lane, and the row of its lane says when the lane
/// opens. Then as many of its waiting operations become pending as tokens have come, and the next opening is stored. So
/// a lane at its limit costs a pass nothing until it opens, however many operations wait in it.
extension OperationRepository {
    /// The row of a lane's token bucket: see ``LaneBudget``.
    struct LaneState {
        /// The limit that was applied when the row was written.
        struct Limit: Equatable {
            let capacity: Int
            let rate: Double

            init(capacity: Int, rate: Double) { (self.capacity, self.rate) = (capacity, rate) }
            init(_ limit: RateLimit) { self.init(capacity: limit.count, rate: limit.rate) }
        }

        /// The id of the row; nil if the lane has none.
        let id: Int64?
        let pipeline: PipelineName
        let lane: String
        var tokens: Double
        var countedAt: Date
        var limit: Limit
        /// When operations that wait for a token are looked at again; nil if none wait.
        var opensAt: Date?

        /// When the bucket is full; nil while operations wait, so that their lane is not forgotten.
        var fullAt: Date? {
            opensAt == nil ? countedAt.later(by: (Double(limit.capacity) - tokens) / limit.rate) : nil
        }

        /// The number of tokens at a moment. If the clock was set back, no tokens have come.
        func tokensLeft(at now: Date) -> Double {
            min(tokens + max(now.timeIntervalSince(countedAt), 0) * limit.rate, Double(limit.capacity))
        }
    }

    /// The shortest time in seconds until a lane opens, so that the engine does not wake up again and again at one
    /// moment.
    static let leastOpening = 0.001
    /// The number of lanes that one transaction opens or corrects.
    private static let laneCount: Int64 = 1000
    /// The number of lanes that one transaction forgets.
    private static let forgottenLaneCount: Int64 = 200

    // MARK: Opening lanes

    /// Makes operations pending for whose lanes tokens have come.
    ///
    /// - Complexity: O(lanes that open, and operations that become pending). Both are bounded. The others are left to
    ///   the next pass, which is due at once.
    func openLanes() throws {
        guard try areLanesLimited() else { return }
        var left = Self.lookLimit
        for lane in try lanes(QueueSQL.selectOpeningLanes, [Self.value(now), .integer(Self.laneCount)]) {
            guard left > 0, let opensAt = lane.opensAt else { return }
            let (rate, capacity) = (lane.limit.rate, Double(lane.limit.capacity))
            // A full bucket gets no more tokens, however long ago the lane should have opened.
            let start = max(opensAt, now.addingTimeInterval(-capacity / rate))
            // A lane with a short pause between tokens opens for all that come within the shortest time.
            let come =
                max(1, (Self.leastOpening * rate).rounded(.up))
                + (now.timeIntervalSince(start) * rate).rounded(.down)
            let usable = min(come, capacity)
            let count = Int(min(usable, Double(left)))
            let (released, areMore) = try releaseAwaiting(count, in: lane.lane, of: lane.pipeline)
            left -= max(released, 1)
            // If this transaction releases fewer operations than tokens have come, the lane opens again at once.
            let next =
                Double(count) < usable
                ? start.later(by: Double(count) / rate)
                : max(start.later(by: come / rate), now.later(by: Self.leastOpening))
            try store(lane, opensAt: areMore ? next : nil)
        }
    }

    /// Makes operations of a lane pending that wait for a token, best first. In `fifo` and `lifo`, this is the first
    /// operation of the lane.
    ///
    /// - Parameter count: the greatest number of operations; nil for all.
    /// - Returns: the number of these operations, and whether more operations of the lane wait for a token.
    @discardableResult
    func releaseAwaiting(
        _ count: Int?,
        in lane: String,
        of pipeline: PipelineName
    ) throws -> (released: Int, areMore: Bool) {
        let rules = try rules(pipeline)
        let laneKey: [StoredValue] = [.text(pipeline.rawValue), .text(lane)]
        // One more than needed shows whether there are more. A negative number means no limit.
        let limit = StoredValue.integer(count.map { Int64($0) + 1 } ?? -1)
        var awaiting: [Int64] = []
        switch rules.ordering {
        case .fifo, .lifo:
            try startNextInLane(lane, of: pipeline)
            return (1, false)
        case .flat:
            awaiting = try transaction.numbers(QueueSQL.selectAwaiting, laneKey + [limit])
        case .commits:
            // Operations of a later commit become pending when it is this commit's turn.
            guard let first = try firstGroup(of: laneKey, rules) else { return (0, false) }
            awaiting = try transaction.numbers(
                QueueSQL.selectAwaitingOfCommit,
                laneKey + [.real(first.sortKey), .integer(first.commit), limit]
            )
        }
        let released = awaiting.prefix(count ?? .max)
        try set(.pending, of: released)
        return (released.count, awaiting.count > released.count)
    }

    /// When the next lane opens in which operations wait for a token; nil if none wait.
    func nextOpening() throws -> Date? {
        var next: Date?
        try transaction.rows(QueueSQL.selectNextOpening, []) { next = try $0.read(Date?.self, at: 0) }
        return next
    }

    /// Whether operations of a lane wait for a token, and none has come.
    func isLaneClosed(_ lane: String, of pipeline: PipelineName) throws -> Bool {
        guard try areLanesLimited() else { return false }
        return try lanes(QueueSQL.selectAwaitedLane, [.text(pipeline.rawValue), .text(lane)])
            .contains { $0.tokensLeft(at: now) + Budget.tolerance < 1 }
    }

    // MARK: Changed limits, clocks

    /// Looks again at operations that wait for a limit which this consumer does not have.
    ///
    /// - Complexity: O(lanes in which operations wait for a token). If their limits have changed, also O(operations
    ///   that wait there).
    func adoptLaneRates(of consumer: Consumer) throws {
        guard try areLanesLimited() else { return }
        func present(_ lane: LaneState) -> LaneState.Limit? {
            consumer.laneRates?.limit(of: lane.lane).map { LaneState.Limit($0) }
        }
        // Mostly none have changed, so the unchanged ones are not kept in memory.
        let changed = try lanes(QueueSQL.selectAwaitedLanes, []) {
            consumer.takes($0.pipeline) && present($0) != $0.limit
        }
        for var lane in changed {
            try releaseAwaiting(nil, in: lane.lane, of: lane.pipeline)
            guard let limit = present(lane), let id = lane.id else {
                try delete(lane.id.map { [$0] } ?? [], of: LaneBudget.self, by: QueueSQL.deleteLaneBudget)
                continue
            }
            (lane.tokens, lane.countedAt) = (min(lane.tokensLeft(at: now), Double(limit.capacity)), now)
            (lane.limit, lane.opensAt) = (limit, nil)
            try update(lane, id: id)
        }
    }

    /// Corrects lanes whose tokens were counted by a clock that was ahead. They count again from now. Otherwise rows of
    /// lanes that are no longer used would stay until the clock has caught up.
    func correctLaneTimes() throws {
        let late: [StoredValue] = [Self.value(now.addingTimeInterval(Self.clockTolerance)), .integer(Self.laneCount)]
        for var lane in try lanes(QueueSQL.selectLanesCountedAfter, late) {
            lane.countedAt = now
            if lane.opensAt != nil {
                lane.opensAt = now.later(by: max((1 - lane.tokens) / lane.limit.rate, Self.leastOpening))
            }
            try store(lane)
        }
    }

    /// Deletes rows of lanes whose buckets are full, a bounded number of them.
    ///
    /// - Returns: whether there may be more.
    func forgetFullLanes() throws -> Bool {
        let full = try transaction.numbers(
            QueueSQL.selectFullLanes,
            [Self.value(now), .integer(Self.forgottenLaneCount)]
        )
        try delete(full, of: LaneBudget.self, by: QueueSQL.deleteLaneBudget)
        return full.count == Self.forgottenLaneCount
    }

    // MARK: Rows

    private func lanes(
        _ sql: String,
        _ values: [StoredValue],
        where isWanted: (LaneState) -> Bool = { _ in true }
    ) throws -> [LaneState] {
        var lanes: [LaneState] = []
        try transaction.rows(sql, values) { row in
            let lane = LaneState(
                id: try row.read(Int64.self, at: 0),
                pipeline: PipelineName(try row.read(String.self, at: 1)),
                lane: try row.read(String.self, at: 2),
                tokens: try row.read(Double.self, at: 3),
                countedAt: try row.read(Date.self, at: 4),
                limit: LaneState.Limit(
                    capacity: try row.read(Int.self, at: 5),
                    rate: try row.read(Double.self, at: 6)
                ),
                opensAt: try row.read(Date?.self, at: 7)
            )
            if isWanted(lane) { lanes.append(lane) }
        }
        return lanes
    }

    private func store(_ lane: LaneState, opensAt: Date?) throws {
        var lane = lane
        lane.opensAt = opensAt
        try store(lane)
    }

    /// Inserts or updates the row of a lane.
    func store(_ lane: LaneState) throws {
        if lane.opensAt != nil { sideResults.facts[.limitedLanes] = true }
        if let id = lane.id { return try update(lane, id: id) }
        let id = try transaction.newID()
        try transaction.run(
            QueueSQL.insertLaneBudget,
            values(of: lane) + [.integer(id), .text(lane.pipeline.rawValue), .text(lane.lane)]
        )
        try transaction.report(inserted: id, of: LaneBudget.self)
    }

    private func update(_ lane: LaneState, id: Int64) throws {
        try transaction.run(QueueSQL.updateLaneBudget, values(of: lane) + [.integer(id)])
        try transaction.report(updated: id, Self.laneColumns, of: LaneBudget.self)
    }

    private static let laneColumns = ["tokens", "countedAt", "capacity", "rate", "opensAt", "fullAt"]

    private func values(of lane: LaneState) -> [StoredValue] {
        [
            .real(lane.tokens), Self.value(lane.countedAt), .integer(Int64(lane.limit.capacity)),
            .real(lane.limit.rate), Self.value(lane.opensAt), Self.value(lane.fullAt), version,
        ]
    }
}
