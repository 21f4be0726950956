import StrataPipeline

/// How long operations rest that the remote was away for: each one longer every time, until some of its work has been done. A new process begins with the
/// shortest pause.
final class ConnectionPauses: Sendable {
    private let retry: RetryPolicy
    /// How often in a row, by operation.
    private let counts = OperationCounts()

    /// - Parameter retry: the limits of the pauses.
    init(_ retry: RetryPolicy) { self.retry = retry }

    /// How long an operation is to rest now.
    func next(for operation: Int64) -> Duration {
        let limit = CircuitBreaker.pause(after: counts.increment(operation), retry.base.seconds, retry.cap.seconds)
        return .seconds(limit * .random(in: 0.5...1))
    }

    /// Notes that something of an operation has been done, or all of it.
    func reset(_ operation: Int64) { counts.reset(operation) }

    func note(_ event: PipelineEvent) { counts.note(event) }
}
