import Foundation
import Strata

/// The token bucket of a pipeline or broker with a rate limit.
@Model(table: "PipelineBudget")
package final class PipelineBudget {
    /// The name of the pipeline or broker.
    @Attribute(.unique) package internal(set) var name: String
    /// The number of tokens at ``countedAt``.
    package internal(set) var tokens: Double
    /// When the tokens were counted.
    package internal(set) var countedAt: Date
}
