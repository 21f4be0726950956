public import Foundation

/// Options of a single operation.
///
/// ```swift
/// context.enqueue(Code(digits: 1234), in: .mail, options: OperationOptions(expires: .after(.seconds(600))))
/// ```
public struct OperationOptions: Sendable, Hashable {
    /// When an operation that has not started expires.
    public enum Expiry: Sendable, Hashable {
        /// At a date.
        case at(Date)
        /// Some time after the call that sets the options, by the clock of the stack's pipelines. Without an open
        /// pipeline or broker, the clock of the machine counts. The date is `Date.distantFuture` at the latest.
        case after(Duration)
    }

    /// When the operation expires if no handler has been started for it by then; nil for never.
    ///
    /// An expired operation leaves the queue as ``OperationResult/expired``, without a call of its handler. Dependants
    /// with the policy ``DependencyPolicy/fail`` fail, and the others continue. An operation that was started does not
    /// expire any more, also while it waits for its next attempt.
    public var expires: Expiry?

    /// When the operation is tried again after its handler has thrown; nil for the policy of its pipeline.
    public var retry: RetryPolicy?

    /// How long the handler of an attempt may take; nil for the timeout of its pipeline.
    public var timeout: Duration?

    /// Creates options. Without arguments, the operation has those of its pipeline.
    public init(expires: Expiry? = nil, retry: RetryPolicy? = nil, timeout: Duration? = nil) {
        self.expires = expires
        self.retry = retry
        self.timeout = timeout
    }
}
