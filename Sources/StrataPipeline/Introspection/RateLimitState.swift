package import Foundation
package import Strata

/// The stored state of a pipeline's rate limit at one moment, for operators.
package struct RateLimitState: Sendable {
    /// The number of attempts that may start now, with a fraction of the next one.
    package let tokens: Double
    /// When the next attempt may start; nil if one may start now.
    package let nextStart: Date?
}

extension ObjectContext {
    /// The state of a pipeline's rate limit. A pipeline that has not started an operation yet has all of its tokens.
    ///
    /// A broker has one limit for all of its queues, so a queue of a broker has no separate state.
    ///
    /// - Parameters:
    ///   - limit: the limit in effect.
    ///   - now: the present.
    /// - Throws: the store's errors.
    /// - Complexity: one lookup.
    package func rateLimitState(of pipeline: PipelineName, _ limit: RateLimit, now: Date) throws -> RateLimitState {
        let name = Consumer.name(of: pipeline)
        guard let bucket = try rows(PipelineBudget.where { $0.name == name }).first else {
            return RateLimitState(tokens: Double(limit.count), nextStart: nil)
        }
        let budget = OperationRepository.Budget(
            id: nil,
            limit,
            tokens: bucket.tokens,
            countedAt: bucket.countedAt,
            now: now
        )
        return RateLimitState(tokens: budget.tokens, nextStart: budget.nextStart)
    }
}
