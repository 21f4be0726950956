import StrataPipeline

/// The pauses of operations after connection failures. The pause of an operation grows with each failure, until the
/// operation makes some progress. A new process begins with the shortest pause.
final class ConnectionPauses: Sendable {
    private let retry: RetryPolicy
    /// The number of consecutive failures by operation.
    private let counts = OperationCounts()

    /// - Parameter retry: the limits of the pauses.
    init(_ retry: RetryPolicy) { self.retry = retry }

    /// The next pause of an operation.
    func next(for operation: Int64) -> Duration {
        let limit = CircuitBreaker.pause(after: counts.increment(operation), retry.base.seconds, retry.cap.seconds)
        return .seconds(limit * .random(in: 0.5...1))
    }

    /// Resets the pause after an operation has made progress or finished.
    func reset(_ operation: Int64) { counts.reset(operation) }

    func handle(_ event: PipelineEvent) { counts.handle(event) }
}
