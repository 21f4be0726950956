import StrataPipeline
import Synchronization

/// How long operations rest that have not come to an end since the remote was away: each one for longer from one time to the next, until some of it has
/// been done. What is known of them is in memory: a process that begins anew tries them once more.
final class ConnectionPauses: Sendable {
    private let retry: RetryPolicy
    /// How often in a row, by operation.
    private let counts = Mutex<[Int64: Int]>([:])

    /// - Parameter retry: the limits of the pauses.
    init(_ retry: RetryPolicy) { self.retry = retry }

    /// How long an operation is to rest now.
    func next(for operation: Int64) -> Duration {
        let count = counts.withLock { counts in
            counts[operation, default: 0] += 1
            return counts[operation, default: 0]
        }
        let limit = CircuitBreaker.pause(after: count, retry.base.seconds, retry.cap.seconds)
        return .seconds(limit * .random(in: 0.5...1))
    }

    /// Notes that something of an operation has been done, or all of it.
    func reset(_ operation: Int64) { counts.withLock { _ = $0.removeValue(forKey: operation) } }

    func note(_ event: PipelineEvent) {
        switch event {
        case .finished(let id, _), .failed(let id, _): reset(id.number)
        default: break
        }
    }
}
