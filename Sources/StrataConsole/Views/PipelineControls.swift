import Strata
import StrataInspection
import StrataPipeline

/// The forms that change the settings of a pipeline.
struct PipelineControls: Sendable {
    /// A form with a field for a limit.
    struct Limit: Sendable {
        /// The id of the field.
        let id: String
        let action: String
        let title: String
        /// The limit in effect.
        let value: String
        let pattern: String
        let hint: String
        /// Resets the limit; nil if no operator has set it.
        let reset: FormView?
    }

    let pause: FormView?
    /// Empty for a queue of a broker, whose limits count all of its queues.
    let limits: [Limit]

    /// - Returns: nil if the store may not be changed, or the name is too long for an address.
    init?(_ settings: PipelineSettings, isOfBroker: Bool, _ request: ConsoleRequest) {
        guard request.allowsChanges else { return nil }
        let name = settings.pipeline.rawValue
        let isPaused = settings.isPaused.value
        pause = request.form(
            PipelinePauseAction(isPaused: !isPaused).path,
            ["pipeline": name, "from": PipelinePage.pathText],
            button: isPaused ? "Resume in all processes" : "Pause in all processes"
        )
        guard pause != nil else { return nil }
        limits = isOfBroker ? [] : PipelineLimit.allCases.compactMap { Self.limit($0, settings, name, request) }
    }

    private static func limit(
        _ limit: PipelineLimit,
        _ settings: PipelineSettings,
        _ name: String,
        _ request: ConsoleRequest
    ) -> Limit? {
        let path = ConsoleRoute.actionPrefix + PipelineLimitAction(limit: limit).path
        guard let action = request.link(path, ["pipeline": name]) else { return nil }
        let value: String
        let isOverridden: Bool
        switch limit {
        case .concurrent:
            value = ConcurrencyLimit.text(settings.maxConcurrent.value)
            isOverridden = settings.maxConcurrent.isOverridden
        case .rate:
            value = RateLimitValue.text(settings.rateLimit.value)
            isOverridden = settings.rateLimit.isOverridden
        }
        let items: KeyValuePairs = ["pipeline": name, "limit": limit.rawValue]
        let reset = request.form(PipelineResetAction().path, items, button: "Reset to the declared value")
        return Limit(
            id: "limit-\(limit.rawValue)",
            action: action,
            title: limit.title,
            value: value,
            pattern: limit.pattern,
            hint: limit.hint,
            reset: isOverridden ? reset : nil
        )
    }
}
