import Dispatch

/// Runs the blocking part of commits that began on the main actor, on a separate queue.
///
/// Swift's shared pool has one thread per core, and a thread that waits for the disk would be missing there.
final class CommitWriter: Sendable {
    private let queue = DispatchQueue(label: "strata.commit")

    /// Writes the commit and returns the result, without blocking a thread of the caller.
    nonisolated(nonsending) func write(_ commit: PendingCommit) async -> Result<CommitRecord?, any Error> {
        await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { try commit.write() })
            }
        }
    }
}
