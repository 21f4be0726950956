public import Foundation

/// The settings of a pipeline that an operator may change while workers run.
///
/// ```swift
/// let settings = try await stack.pipelineSettings(of: .uploads)
/// print(settings.maxConcurrent.value, settings.declared?.maxConcurrent)
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

    /// The limits that a program has declared.
    public struct Declaration: Sendable, Hashable {
        /// The greatest number of handlers that run at once in one process; nil for any number.
        public let maxConcurrent: Int?
        /// How many attempts may start in an interval, in all processes together; nil for any number.
        public let rateLimit: RateLimit?
    }

    /// A setting with its last change.
    public struct Setting<Value: Sendable & Hashable>: Sendable, Hashable {
        /// The value in effect: an operator's value, or else the declared one, or else the default of
        /// ``PipelineOptions``.
        public let value: Value
        /// Whether an operator's value is in effect.
        public let isOverridden: Bool
        /// The last change or reset by an operator; nil if there was none.
        public let change: Change?
    }

    /// The name of the pipeline, or of a broker's queue.
    public let pipeline: PipelineName
    /// The limits of the program that last opened the pipeline; nil if no program has opened it with the present
    /// version of Strata. It is nil for the queues of brokers, too.
    public let declared: Declaration?
    /// Whether the pipeline is paused. Programs cannot declare a pause.
    public let isPaused: Setting<Bool>
    /// The greatest number of handlers that run at once in one process; nil for any number.
    public let maxConcurrent: Setting<Int?>
    /// How many attempts may start in an interval, in all processes together; nil for any number.
    public let rateLimit: Setting<RateLimit?>
}
