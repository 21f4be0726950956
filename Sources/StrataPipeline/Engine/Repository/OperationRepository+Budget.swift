import Foundation
import Strata

extension OperationRepository {
    /// The remaining tokens of a rate limit.
    struct Budget {
        let id: Int64?
        let limit: RateLimit
        /// The number of attempts that may be started, with a fraction of the next one.
        var tokens: Double

        /// The number of attempts that may be started now.
        var whole: Int { Int(min(max(tokens + Self.tolerance, 0), Self.most)) }
        /// The tolerance covers the rounding errors of sums of short times.
        static let tolerance = 1e-6
        /// More than one transaction starts. The bound is needed because a bucket may hold more tokens than an integer
        /// counts, such as one of `.max`.
        private static let most = 1e6
        /// The seconds until one more attempt may be started; 0 if one may be started now.
        var pause: Double { whole > 0 ? 0 : (1 - tokens) / limit.rate }
    }

    func budget(of name: String, _ limit: RateLimit) throws -> Budget {
        var known: (id: Int64, tokens: Double, at: Date)?
        try transaction.rows(QueueSQL.selectBudget, [.text(name)]) { row in
            known = (try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1), try row.read(Date.self, at: 2))
        }
        guard let known else { return Budget(id: nil, limit: limit, tokens: Double(limit.count)) }
        let elapsed = now.timeIntervalSince(known.at)
        var budget = Budget(
            id: known.id,
            limit: limit,
            tokens: limit.tokens(known.tokens, after: elapsed)
        )
        // The clock was set back. No tokens are added, and counting restarts from now.
        if elapsed < -Self.clockTolerance { try spend(0, of: &budget, name) }
        return budget
    }

    /// Takes tokens out of a budget.
    func spend(_ count: Int, of budget: inout Budget, _ name: String) throws {
        budget.tokens -= Double(count)
        let values: [StoredValue] = [
            .real(budget.tokens), .real(now.timeIntervalSinceReferenceDate), .integer(transaction.number),
        ]
        if let id = budget.id {
            try transaction.run(QueueSQL.updateBudget, values + [.integer(id)])
            try transaction.report(updated: id, ["tokens", "countedAt"], of: PipelineBudget.self)
        } else {
            let id = try transaction.newID()
            try transaction.run(QueueSQL.insertBudget, [.integer(id), .text(name)] + values)
            try transaction.report(inserted: id, of: PipelineBudget.self)
        }
    }
}

extension RateLimit {
    /// When a bucket has the token for the next start; nil if it has one now. The date stays the same until a start
    /// takes a token.
    ///
    /// - Parameter tokens: the number of tokens at `countedAt`.
    func nextStart(tokens: Double, countedAt: Date, now: Date) -> Date? {
        // The clock may have been set back. Then counting restarts from now.
        let start = min(countedAt, now)
        let left = self.tokens(tokens, after: now.timeIntervalSince(start))
        guard OperationRepository.Budget(id: nil, limit: self, tokens: left).pause > 0 else { return nil }
        return start.later(by: (1 - tokens) / rate)
    }
}
