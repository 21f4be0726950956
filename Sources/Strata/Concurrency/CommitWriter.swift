import Dispatch

/// Runs the blocking part of commits that began on the main actor, on a queue of its own.
///
/// The shared pool of Swift has one thread per core; a thread that waits for the disk is missing there.
final class CommitWriter: Sendable {
    private let queue = DispatchQueue(label: "strata.commit")

    /// Writes and gives the outcome, without holding a thread of the caller.
    nonisolated(nonsending) func write(_ commit: PendingCommit) async -> Result<CommitRecord?, any Error> {
        await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { try commit.write() })
            }
        }
    }
}
