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
    /// The pauses of operations after connection failures.
    let pauses: ConnectionPauses
    /// The operations that have found their folder missing.
    let missingFolders = MissingFolders()
    /// Requests a pull, and makes operations wait for it.
    let awaitPull: @Sendable () -> Void
    /// The number of changes of the credentials.
    private let changes = Mutex(0)

    init(_ retry: RetryPolicy, reachability: any ConstraintSource, awaitPull: @escaping @Sendable () -> Void) {
        (pauses, self.reachability, self.awaitPull) = (ConnectionPauses(retry), reachability, awaitPull)
    }

    /// The number of changes of the credentials, to be read before an attempt begins.
    var epoch: Int { changes.withLock { $0 } }

    func credentialsChanged() {
        changes.withLock { changes in
            changes += 1
            credentials.set(true)
        }
    }

    func handle(_ event: PipelineEvent) {
        pauses.handle(event)
        missingFolders.handle(event)
    }

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
                for: error.retryAfter ?? pauses.next(for: attempt.id.rawValue),
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
