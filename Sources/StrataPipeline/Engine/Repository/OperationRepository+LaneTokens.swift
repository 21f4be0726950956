import Foundation
import Strata

extension OperationRepository {
    /// The tokens of a pipeline's lanes during one search for claimable operations. A lane is read when the search
    /// meets its first operation.
    struct LaneTokens {
        fileprivate struct Bucket {
            var budget: Budget
            /// When operations that wait for a token are looked at again; nil if none wait.
            var opensAt: Date?
            /// The number of ready operations, which will take a token each.
            var reserved = 0
            /// Whether the search has found an operation that must wait for a token.
            var isAwaited = false
        }

        private let rates: LaneRates
        private let pipeline: PipelineName
        private var buckets: [UTF8Text: Bucket] = [:]

        init(_ rates: LaneRates, of pipeline: PipelineName) { (self.rates, self.pipeline) = (rates, pipeline) }

        /// Whether an operation of a lane may start now.
        mutating func hasToken(in lane: String, _ repository: OperationRepository) throws -> Bool {
            guard let limit = rates.limit(of: lane) else { return true }
            let key = UTF8Text(lane)
            let bucket = try buckets[key] ?? repository.bucket(of: lane, in: pipeline, limit)
            buckets[key] = bucket
            return bucket.budget.whole > bucket.reserved
        }

        /// Reserves a token for a ready operation.
        mutating func take(in lane: String) { buckets[UTF8Text(lane)]?.reserved += 1 }

        /// Records that an operation of a lane waits for a token.
        mutating func wait(in lane: String) { buckets[UTF8Text(lane)]?.isAwaited = true }

        /// Stores the tokens that claims have taken, and when lanes with waiting operations open.
        func store(_ claims: [ClaimedOperation], _ repository: OperationRepository) throws {
            var spent: [UTF8Text: Int] = [:]
            for claim in claims { spent[UTF8Text(claim.lane), default: 0] += 1 }
            for (lane, bucket) in buckets where spent[lane] != nil || bucket.isAwaited {
                try repository.store(bucket, spending: spent[lane] ?? 0, of: lane.string, in: pipeline)
            }
        }
    }

    /// The bucket of a lane with a limit; a full one if the lane is unknown.
    private func bucket(of lane: String, in pipeline: PipelineName, _ limit: RateLimit) throws -> LaneTokens.Bucket {
        var bucket = LaneTokens.Bucket(budget: Budget(limit, now: now))
        try transaction.rows(QueueSQL.selectLaneBudget, [.text(pipeline.rawValue), .text(lane)]) { row in
            bucket.budget = Budget(
                id: try row.read(Int64.self, at: 0),
                limit,
                tokens: try row.read(Double.self, at: 1),
                countedAt: try row.read(Date.self, at: 2),
                now: now
            )
            bucket.opensAt = try row.read(Date?.self, at: 3)
        }
        return bucket
    }

    private func store(
        _ bucket: LaneTokens.Bucket,
        spending count: Int,
        of lane: String,
        in pipeline: PipelineName
    ) throws {
        var budget = bucket.budget
        budget.tokens -= Double(count)
        var opensAt = bucket.opensAt
        if bucket.isAwaited {
            let opening = budget.nextStart.map { max($0, now.later(by: Self.leastOpening)) } ?? now
            // Most operations of a limited lane change nothing, because the lane opens at the same time as before.
            if count == 0, let opensAt, abs(opensAt.timeIntervalSince(opening)) < Self.leastOpening { return }
            opensAt = opening
        }
        try store(
            LaneState(
                id: budget.id,
                pipeline: pipeline,
                lane: lane,
                tokens: budget.tokens,
                countedAt: budget.countedAt,
                limit: LaneState.Limit(budget.limit),
                opensAt: opensAt
            )
        )
    }
}
