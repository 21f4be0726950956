/// The changes that an operator makes to the settings of a pipeline.
///
/// Each property begins with the value in effect. Setting it overrides the declared value, also with an equal value.
/// ``reset(_:)`` removes the override.
public struct PipelineSettingsUpdate: Sendable {
    /// Whether the pipeline is paused in all processes. Running operations continue.
    public var isPaused: Bool { didSet { changes[.isPaused] = .set } }

    /// The greatest number of handlers that run at once in one process; nil for any number. The number must be 1 or
    /// more. To run no handler, pause the pipeline.
    public var maxConcurrent: Int? { didSet { changes[.maxConcurrent] = .set } }

    /// How many attempts may start in an interval, in all processes together; nil for any number.
    public var rateLimit: RateLimit? { didSet { changes[.rateLimit] = .set } }

    enum Change: Sendable { case set, reset }

    private(set) var changes: [PipelineSettings.Name: Change] = [:]
    private let settings: PipelineSettings

    init(_ settings: PipelineSettings) {
        self.settings = settings
        isPaused = settings.isPaused.value
        maxConcurrent = settings.maxConcurrent.value
        rateLimit = settings.rateLimit.value
    }

    /// Removes an operator's value, so that the declared value applies again, or else the default.
    public mutating func reset(_ name: PipelineSettings.Name) {
        switch name {
        case .isPaused: isPaused = false
        case .maxConcurrent: maxConcurrent = settings.declaredOrDefault.maxConcurrent
        case .rateLimit: rateLimit = settings.declaredOrDefault.rateLimit
        }
        changes[name] = .reset
    }

    /// Removes the operators' values of all settings.
    public mutating func reset() { for name in PipelineSettings.Name.allCases { reset(name) } }

    /// Rejects values with which no operation could run.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument`.
    func check() throws {
        let advice = "set `isPaused`"
        if changes[.maxConcurrent] == .set, let maxConcurrent {
            try PipelineOptions.checkLimit(maxConcurrent, toRunNone: advice)
        }
        if changes[.rateLimit] == .set, let rateLimit { try PipelineOptions.check(rateLimit, toRunNone: advice) }
    }

    /// The stored form of a setting.
    func stored(_ name: PipelineSettings.Name) -> (number: Int?, interval: StoredDuration?) {
        switch name {
        case .isPaused: (isPaused ? 1 : 0, nil)
        case .maxConcurrent: (maxConcurrent, nil)
        case .rateLimit: (rateLimit?.count, rateLimit.map { StoredDuration($0.interval) })
        }
    }
}
