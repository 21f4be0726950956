public import Foundation
public import Strata

/// The token bucket of a pipeline or broker with a rate limit.
@Model(table: "PipelineBudget")
public final class PipelineBudget {
    /// The name of the pipeline or broker.
    @Attribute(.unique) public internal(set) var name: String
    /// The number of tokens at ``countedAt``.
    public internal(set) var tokens: Double
    /// When the tokens were counted.
    public internal(set) var countedAt: Date
}
