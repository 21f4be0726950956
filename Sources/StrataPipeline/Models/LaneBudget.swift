import Foundation
import Strata

/// The token bucket of a lane with a rate limit.
///
/// A lane without a row has a full bucket. The row is deleted some time after its bucket is full again, so the table
/// contains only lanes that have started operations recently, or in which operations wait.
@Model(
    .unique("pipeline", "lane"),
    .index("opensAt", whereNotNil: "opensAt"),
    .index("countedAt"),
    .index("fullAt", whereNotNil: "fullAt"),
    table: "LaneBudget"
)
package final class LaneBudget {
    /// The name of the pipeline or queue.
    package internal(set) var pipeline: PipelineName
    /// The name of the lane.
    package internal(set) var lane: String
    /// The number of tokens at ``countedAt``.
    package internal(set) var tokens: Double
    /// When the tokens were counted.
    package internal(set) var countedAt: Date
    /// The number of tokens in the full bucket, by the limit that was last applied.
    package internal(set) var capacity: Int
    /// The number of tokens that return in a second, by the limit that was last applied.
    package internal(set) var rate: Double
    /// When operations that wait for a token are looked at again; nil if none wait.
    package internal(set) var opensAt: Date?
    /// When the bucket is full; nil while operations wait for a token.
    package internal(set) var fullAt: Date?
}
