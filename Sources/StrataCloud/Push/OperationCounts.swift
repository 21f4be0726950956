import StrataPipeline
import Synchronization

/// Counts in memory how often an event has happened to an operation, until the operation ends.
final class OperationCounts: Sendable {
    private let counts = Mutex<[Int64: Int]>([:])

    /// Counts the event once more.
    ///
    /// - Returns: how often it has happened.
    func increment(_ operation: Int64) -> Int {
        counts.withLock { counts in
            counts[operation, default: 0] += 1
            return counts[operation, default: 0]
        }
    }

    func reset(_ operation: Int64) { counts.withLock { _ = $0.removeValue(forKey: operation) } }

    /// Forgets operations that have ended or failed.
    func handle(_ event: PipelineEvent) {
        switch event {
        case .finished(let id, _), .failed(let id, _): reset(id.rawValue)
        default: break
        }
    }
}
