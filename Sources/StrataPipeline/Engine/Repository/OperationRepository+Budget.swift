import Foundation
import Strata

extension OperationRepository {
    /// The remaining tokens of a rate limit.
    struct Budget {
        let id: Int64?
        let limit: RateLimit
        /// The number of attempts that may be started, with a fraction of the next one.
        var tokens: Double
        /// The time up to which the tokens are counted.
        let countedAt: Date

        /// Creates a full bucket.
        init(_ limit: RateLimit, now: Date) {
            (id, self.limit, tokens, countedAt) = (nil, limit, Double(limit.count), now)
        }

        /// Counts the tokens of a stored bucket.
        init(id: Int64?, _ limit: RateLimit, tokens: Double, countedAt: Date, now: Date) {
            let start = Self.start(countedAt, now: now)
            (self.id, self.limit, self.countedAt) = (id, limit, max(start, now))
            self.tokens = limit.tokens(tokens, after: now.timeIntervalSince(start))
        }

        /// The time from which tokens are added.
        ///
        /// A pass reads its clock, and then waits for the store. So another process whose pass began later may have
        /// counted already, and counting continues from there. Otherwise the time between the two would count twice.
        /// If the stored time is much later, the clock was set back, and counting restarts from now.
        static func start(_ countedAt: Date, now: Date) -> Date {
            countedAt.timeIntervalSince(now) > OperationRepository.clockTolerance ? now : countedAt
        }

        /// The number of attempts that may be started now.
        var whole: Int { Int(min(max(tokens + Self.tolerance, 0), Self.most)) }
        /// The tolerance covers the rounding errors of sums of short times.
        static let tolerance = 1e-6
        /// More than one transaction starts. The bound is needed because a bucket may hold more tokens than an integer
        /// counts, such as one of `.max`.
        private static let most = 1e6
        /// When one more attempt may be started; nil if one may be started now.
        var nextStart: Date? { whole > 0 ? nil : countedAt.later(by: (1 - tokens) / limit.rate) }
    }

    func budget(of name: String, _ limit: RateLimit) throws -> Budget {
        var known: (id: Int64, tokens: Double, at: Date)?
        try transaction.rows(QueueSQL.selectBudget, [.text(name)]) { row in
            known = (try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1), try row.read(Date.self, at: 2))
        }
        guard let known else { return Budget(limit, now: now) }
        var budget = Budget(id: known.id, limit, tokens: known.tokens, countedAt: known.at, now: now)
        // The clock was set back. No tokens are added, and counting restarts from now.
        if budget.countedAt < known.at { try spend(0, of: &budget, name) }
        return budget
    }

    /// Takes tokens out of a budget.
    func spend(_ count: Int, of budget: inout Budget, _ name: String) throws {
        budget.tokens -= Double(count)
        let values: [StoredValue] = [
            .real(budget.tokens), Self.value(budget.countedAt), .integer(transaction.number),
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
        typealias Budget = OperationRepository.Budget
        let budget = Budget(id: nil, self, tokens: tokens, countedAt: countedAt, now: now)
        guard budget.nextStart != nil else { return nil }
        return Budget.start(countedAt, now: now).later(by: (1 - tokens) / rate)
    }
}
