/// The options of a pipeline that operators have overridden.
struct OverriddenOptions: Sendable, Equatable {
    /// Whether operators have paused the pipeline.
    var isPaused = false
    /// The operators' limit, which may be no limit; nil without an override.
    var maxConcurrent: Int??
    /// The operators' rate limit, which may be no limit; nil without an override.
    var rateLimit: RateLimit??

    /// Sets an option from its stored form. Another program may have stored a number below the bounds. Such a limit
    /// permits nothing, and such a rate limit does not count.
    mutating func set(_ name: PipelineSettings.Name, number: Int?, interval: StoredDuration?) {
        switch name {
        case .isPaused: isPaused = number == 1
        case .maxConcurrent: maxConcurrent = .some(number.map { max($0, 0) })
        case .rateLimit: rateLimit = .some(RateLimit(storedCount: number, interval: interval))
        }
    }
}

extension RateLimit {
    /// Reads a stored limit; nil for no limit, and for values without a meaning.
    init?(storedCount count: Int?, interval: StoredDuration?) {
        guard let count, let interval = interval?.duration, count > 0, interval > .zero else { return nil }
        self.init(count, per: interval)
    }
}
