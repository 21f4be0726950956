public import Foundation
public import Strata

/// How many attempts a pipeline or broker with a rate limit may start.
@Model(table: "PipelineBudget")
public final class PipelineBudget {
    /// Whose it is.
    @Attribute(.unique) public internal(set) var name: String
    /// How many tokens there were.
    public internal(set) var tokens: Double
    /// When that was.
    public internal(set) var countedAt: Date
}
