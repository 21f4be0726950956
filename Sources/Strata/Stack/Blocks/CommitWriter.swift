import Dispatch
import Tracing

/// Runs the blocking part of commits that began on the main actor, on a separate queue.
///
/// Swift's shared pool has one thread per core, and a thread that waits for the disk would be missing there.
final class CommitWriter: Sendable {
    private let queue = DispatchQueue(label: "strata.commit")

    /// Writes the commit and returns the result, without blocking a thread of the caller.
    nonisolated(nonsending) func write(_ commit: PendingCommit) async -> Result<CommitRecord?, any Error> {
        // The queue does not inherit the task's values.
        let trace = commit.store.telemetry.spans == nil ? nil : ServiceContext.current
        return await withCheckedContinuation { continuation in
            queue.async {
                let result: Result<CommitRecord?, any Error> = Result {
                    guard let trace else { return try commit.write() }
                    return try ServiceContext.$current.withValue(trace) { try commit.write() }
                }
                continuation.resume(returning: result)
            }
        }
    }
}
