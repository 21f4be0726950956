import Strata

/// The rate limits of the lanes of a pipeline or broker.
struct LaneRates: Sendable, Equatable {
    /// The limit of each lane that has no separate one; nil for any number of attempts.
    private let standard: RateLimit?
    private let separate: [UTF8Text: RateLimit]

    /// Takes the limits from options; nil if no lane has one. So a pipeline without such limits pays nothing.
    init?(_ options: PipelineOptions) {
        guard options.rateLimitPerLane != nil || !options.laneRateLimits.isEmpty else { return nil }
        standard = options.rateLimitPerLane
        separate = options.laneRateLimits
    }

    /// The limit of a lane; nil for any number of attempts.
    func limit(of lane: String) -> RateLimit? {
        separate.isEmpty ? standard : separate[UTF8Text(lane)] ?? standard
    }
}
