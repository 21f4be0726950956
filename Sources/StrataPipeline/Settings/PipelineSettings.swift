public import Foundation

/// The settings of a pipeline that an operator may change while workers run.
///
/// ```swift
/// let settings = try await stack.pipelineSettings(of: .uploads)
/// print(settings.maxConcurrent.value, settings.maxConcurrent.declared)
/// if let change = settings.isPaused.change { print("paused by \(change.by)") }
/// ```
///
/// A program's ``PipelineOptions`` are the declared values. An operator's value overrides them in all processes, also
/// after restarts, until it is reset. A program that declares another value meanwhile does not change the operator's.
public struct PipelineSettings: Sendable, Hashable {
    /// The name of a setting.
    public enum Name: String, CaseIterable, Sendable {
        /// Whether the pipeline is paused.
        case isPaused
        /// The greatest number of handlers that run at once in one process.
        case maxConcurrent
        /// The rate limit of all processes together.
        case rateLimit
    }

    /// An operator's last change of a setting.
    public struct Change: Sendable, Hashable {
        /// The name that the operator gave.
        public let by: String
        /// When the change was made.
        public let at: Date
    }

    /// A setting with its declared value.
    public struct Setting<Value: Sendable & Hashable>: Sendable, Hashable {
        /// The value in effect: an operator's value, or else the declared one.
        public let value: Value
        /// The value of the program that last opened the pipeline, or else the default of ``PipelineOptions``.
        public let declared: Value
        /// Whether an operator's value is in effect.
        public let isOverridden: Bool
        /// The last change or reset by an operator; nil if there was none.
        public let change: Change?
    }

    /// The name of the pipeline, or of a broker's queue.
    public let pipeline: PipelineName
    /// Whether a program has opened the pipeline with the present version of Strata. Otherwise the declared values are
    /// the defaults.
    public let isDeclared: Bool
    /// Whether the pipeline is paused. Programs cannot declare a pause, so the declared value is false.
    public let isPaused: Setting<Bool>
    /// The greatest number of handlers that run at once in one process; nil for any number.
    public let maxConcurrent: Setting<Int?>
    /// How many attempts may start in an interval, in all processes together; nil for any number.
    public let rateLimit: Setting<RateLimit?>
}
