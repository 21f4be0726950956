import Strata
import StrataPipeline
import Synchronization

/// Cleans up what ended processes, other machines, and edits of the tree leave in the store and at the remote.
///
/// The extensions contain the steps. This file decides when they run:
///
/// | step | when the account opens | later |
/// |---|---|---|
/// | ``requeueOrphans()`` | before the pipeline opens | never |
/// | ``deleteIdleHolders()``, ``removeOrphanedTagsAndMarks()`` | before the first operation | never |
/// | ``deleteSentHolders()`` | – | after the last message of a holder was sent |
/// | ``retryFailedOperations()`` | for all operations | after an operation has failed, or a node was moved or deleted |
/// | ``abortAbandonedUploads()`` | for all uploads | after the queued operations have changed, or the remote is back |
///
/// Isolation: any.
final class Reconciler: Sendable {
    let stack: ContextStack
    let info: AccountInfo
    let remote: any Remote
    let state = Mutex(State())
    /// Runs the steps that use only the store.
    private let storeSteps = RepeatedTask()
    /// Runs the step that sends requests, which may take long.
    private let remoteSteps = RepeatedTask()

    /// The work that is due, for each step that runs beside the operations.
    struct State {
        var holders = HolderNews()
        var failures = FailureNews()
        var uploads = UploadNews()
    }

    init(_ stack: ContextStack, _ info: AccountInfo, _ remote: any Remote) {
        (self.stack, self.info, self.remote) = (stack, info, remote)
    }

    // MARK: Start and stop

    /// Runs the steps that precede the first operation of the account.
    func repair() async {
        await deleteIdleHolders()
        await removeOrphanedTagsAndMarks()
    }

    /// Begins the steps that run beside the account's operations.
    func start() {
        runStoreSteps()
        retryAborts()
    }

    /// Ends all steps while the account closes its pipeline.
    ///
    /// No operation is retried, and no upload is aborted, after the pipeline has begun to close. The holders of the
    /// last messages are deleted after it has closed. Operations that end meanwhile do not delay the close.
    ///
    /// - Parameter closePipeline: closes the pipeline.
    func stop(_ closePipeline: () async -> Void) async {
        await remoteSteps.stop()
        // Store blocks are not cancelled, so this waits for the running step, and for no other one.
        await storeSteps.stop()
        await closePipeline()
        await deleteSentHolders()
    }

    // MARK: When the steps run

    /// Handles the end of an operation.
    func handle(_ event: PipelineEvent) {
        let isDue = state.withLock { state in
            let isHolderDue = state.holders.record(event)
            let isFailureDue = state.failures.record(event)
            return isHolderDue || isFailureDue
        }
        if isDue { runStoreSteps() }
    }

    /// Handles commits, which may have moved or deleted nodes, or ended uploads.
    ///
    /// - Parameter news: the commits; nil if they are not known.
    func handle(_ news: [ChangeSet]?) {
        if state.withLock({ $0.failures.record(news) }) { runStoreSteps() }
        if news?.contains(where: { $0.contains(QueuedOperation.self) }) ?? true { runRemoteSteps() }
    }

    /// Tries again to abort uploads. Called when the remote may be reachable again.
    func retryAborts() {
        recordUploadBegin()
        runRemoteSteps()
    }

    private func runStoreSteps() {
        storeSteps.ask {
            await self.deleteSentHolders()
            await self.retryFailedOperations()
        }
    }

    private func runRemoteSteps() {
        guard state.withLock({ $0.uploads.isDue }) else { return }
        remoteSteps.ask { await self.abortAbandonedUploads() }
    }

    // MARK: Waiting

    /// Waits for the due steps that use only the store.
    func waitUntilIdle() async { await storeSteps.waitUntilIdle() }

    /// Waits for the due steps that send requests.
    func waitForAborts() async { await remoteSteps.waitUntilIdle() }
}
