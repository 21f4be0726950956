import Strata
import StrataPipeline
import Synchronization

/// Decides what an error does to an operation, and counts the errors of each operation.
///
/// Isolation: any.
final class PushFailures: Sendable {
    /// The constraint that operations wait for without a network.
    let reachability: any ConstraintSource
    /// The constraint of operations for which the remote has refused the credentials, or a file has refused the keys.
    let credentials = ManualConstraint(CloudAccount.credentials, isSatisfied: true)
    /// Requests a pull, and makes operations wait for it.
    let awaitPull: @Sendable () -> Void
    /// The limits of the pauses after connection failures.
    private let retry: RetryPolicy
    /// How often each operation has failed to reach the remote since its last progress.
    private let connectionFailures = OperationCounts()
    /// How often each operation has found its folder missing.
    private let missingFolders = OperationCounts()
    /// The number of changes of the credentials.
    private let changes = Mutex(0)

    init(_ retry: RetryPolicy, reachability: any ConstraintSource, awaitPull: @escaping @Sendable () -> Void) {
        (self.retry, self.reachability, self.awaitPull) = (retry, reachability, awaitPull)
    }

    /// The number of changes of the credentials, to be read before an attempt begins.
    var epoch: Int { changes.withLock { $0 } }

    func credentialsChanged() {
        changes.withLock { changes in
            changes += 1
            credentials.set(true)
        }
    }

    /// Forgets the counts of operations that have ended or failed.
    func handle(_ event: PipelineEvent) {
        connectionFailures.handle(event)
        missingFolders.handle(event)
    }

    // MARK: Pauses

    /// Counts a connection failure of an operation.
    ///
    /// - Returns: the pause until the next attempt. It grows with each failure, until the operation makes some
    ///   progress. A new process begins with the shortest pause.
    func nextPause(of operation: Int64) -> Duration {
        let count = connectionFailures.increment(operation)
        let limit = CircuitBreaker.pause(after: count, retry.base.seconds, retry.cap.seconds)
        return .seconds(limit * .random(in: 0.5...1))
    }

    /// Resets the pause after an operation has made progress.
    func recordProgress(of operation: Int64) { connectionFailures.reset(operation) }

    // MARK: Missing folders

    /// What an operation does after it has found its folder missing.
    enum MissingFolderStep {
        /// The operation waits for the end of a pull.
        case wait
        /// The operation creates the folders.
        case make
        /// The folders were created, and the remote still reports them as missing.
        case fail
    }

    /// The number of pulls that an operation waits for.
    private static let pulls = 2

    /// Counts that the remote lacks the parent folder of an operation's node.
    ///
    /// A pull detects the fate of the folder, and either moves the node along or restores the folder. A pull may also
    /// leave the node unchanged because of the very operation that waits for the pull. So an operation waits for at
    /// most two pulls, and then creates the folders itself.
    func recordMissingFolder(of operation: Int64) -> MissingFolderStep {
        let count = missingFolders.increment(operation)
        if count <= Self.pulls { return .wait }
        return count == Self.pulls + 1 ? .make : .fail
    }

    // MARK: Outcomes

    /// The outcome of an operation that needs existing encrypted content which cannot be opened.
    func outcome(of error: CloudError, _ epoch: Int) throws -> Outcome {
        switch error.code {
        case .accountKeyUnknown: waiting(since: epoch)
        case .notEncrypted, .encryptionVersionUnknown, .encryptionKeyRefused, .encryptedForAnotherNode,
            .encryptedContentMalformed, .encryptionInputInvalid:
            .fail(error.description)
        default: throw error
        }
    }

    /// Waits for other credentials or keys. If they have changed during the request with the old ones, the operation
    /// runs again at once.
    private func waiting(since epoch: Int) -> Outcome {
        changes.withLock { now in
            guard now == epoch else { return .snooze(for: .zero) }
            credentials.set(false)
            return .wait(CloudAccount.credentials)
        }
    }

    /// The outcome of an operation that the remote has rejected, or that did not reach the remote.
    func outcome(of error: RemoteError, _ attempt: Attempt<CloudWork>, _ epoch: Int) throws -> Outcome {
        if error.isOfRemote {
            if error.code == .unreachable, !reachability.isSatisfied { return .wait(reachability.constraint) }
            // The other operations wait for the remote's availability. This one waits longer after each failure, in
            // case it is the cause of the broken connections.
            return .snooze(
                for: error.retryAfter ?? nextPause(of: attempt.id.rawValue),
                because: error.description
            )
        }
        switch error.code {
        case .unauthorized, .untrusted: return waiting(since: epoch)
        case .unsupported, .misconfigured: return .fail(error.description)
        default: break
        }
        // The pipeline retries the operation with pauses. In the end a person must look at it.
        throw error
    }
}

/// Counts in memory how often an event has happened to an operation, until the operation ends.
private final class OperationCounts: Sendable {
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
