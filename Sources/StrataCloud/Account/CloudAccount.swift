public import Strata
public import StrataPipeline
import Synchronization

/// An account with its tree, and with the machinery that synchronizes the tree with its remote.
///
/// ```swift
/// let account = try await CloudAccount.open(stack, id: "alice", remote: folder, handler: NotesHandler())
/// ```
///
/// One store may contain several accounts. Each account has its own operations, which go only to its own remote.
///
/// - Isolation: any.
public final class CloudAccount: Sendable {
    /// The models that a stack must be opened with, in addition to the application's models.
    ///
    /// The list includes the models of `Pipeline`.
    public static let models: [any Model.Type] =
        Pipeline.models + [
            AccountRecord.self, CloudNode.self, RemoteNode.self, ResourceAccess.self, PartialUpload.self,
            DownloadMark.self,
            CloudTag.self,
            CloudConflict.self,
            SealedUpload.self,
        ]

    /// The account's id.
    public let id: String
    /// The pipeline that runs the queued operations, such as uploads.
    public let uploads: Pipeline
    /// The account's remote.
    public let remote: any Remote
    let info: AccountInfo
    /// The downloads of content.
    public let downloads: Downloads
    let pulls: PullLoop
    let marked: MarkedDownloads
    let pusher: Pusher
    let reconciler: Reconciler
    let availability: RemoteAvailability
    /// The subscription to the store's commits.
    private let listening = Mutex<CommitListening?>(nil)

    private init(
        _ remote: any Remote,
        _ pusher: Pusher,
        _ uploads: Pipeline,
        _ pulls: PullLoop,
        _ downloads: Downloads,
        _ marked: MarkedDownloads
    ) {
        (self.downloads, self.marked) = (downloads, marked)
        (id, info, self.remote) = (pusher.info.account, pusher.info, remote)
        (availability, reconciler) = (pusher.availability, pusher.reconciler)
        (self.pusher, self.uploads, self.pulls) = (pusher, uploads, pulls)
    }

    /// Opens an account: sets it up, or resumes its earlier work, including operations that are still queued.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - id: the application's id for the account, which must stay the same.
    ///   - remote: the remote that stores the account's tree. The remote may be unreachable.
    ///   - handler: provides content, and is notified about the results for nodes.
    ///   - options: settings that differ from the defaults.
    /// - Throws: ``CloudError`` with `modelsMissing`, `otherRemote` or `encryptionMissing`; `PipelineError` with
    ///   `alreadyOpen`; the errors of the store, such as `readOnly`.
    public static func open(
        _ stack: ContextStack,
        id: String,
        remote: any Remote,
        handler: any CloudHandler,
        options: CloudOptions = CloudOptions()
    ) async throws -> CloudAccount {
        try stack.checkWritable()
        guard models.allSatisfy({ stack.knows($0) }) else {
            throw CloudError(.modelsMissing, "Add `CloudAccount.models` to the models of the stack.")
        }
        let setup = AccountSetup(
            stack: stack,
            account: id,
            remote: remote,
            names: options.names,
            isEncrypted: options.encryption != nil
        )
        let info = try await setup.accountInfo()
        let reachability =
            options.reachability ?? ManualConstraint(Constraint(rawValue: "reachable.\(id)"), isSatisfied: true)
        let transfers = TransferTracker(options.clock, maxUploadRate: options.maxUploadRate)
        let availability = RemoteAvailability(remote, options.retry, reachability, options.clock)
        let watched = WatchedRemote(CheckedRemote(remote), availability)
        let reconciler = Reconciler(stack, info, watched)
        try await reconciler.requeueOrphans()
        let downloads = Downloads(stack, info, watched, availability, options, transfers)
        let marked = MarkedDownloads(downloads, handler, options)
        let isFirstPullAwaited = options.pull.waitsForInitialPull
        let puller = Puller(stack: stack, info: info, remote: watched, handler: handler)
        let pulls = PullLoop(puller, availability, options)
        let failures = PushFailures(options.retry, reachability: reachability) { pulls.beAwaited() }
        let pusher = Pusher(
            stack,
            info,
            remote: watched,
            handler: handler,
            options: options,
            availability: availability,
            failures: failures,
            transfers: transfers,
            reconciler: reconciler
        )
        let uploads: Pipeline
        do {
            uploads = try await Pipeline.open(
                stack,
                named: info.pipeline,
                gate: PipelineGate(availability, exemptKeys: CloudContext.elsewhere),
                options: PipelineOptions(
                    maxConcurrent: options.maxConcurrent,
                    retry: options.retry,
                    constraints: [reachability, pulls.awaited, failures.credentials],
                    // No operation runs before all observers of the pipeline are set up.
                    isSuspended: true,
                    clock: options.clock
                )
            ) { (attempt: Attempt<CloudWork>) in try await pusher.run(attempt) }
        } catch let error as PipelineError where error.code == .alreadyOpen { throw Self.openError(id) }
        // The option and the wait for the first pull each suspend the uploads once, so uploads begin after both have
        // ended.
        if options.isSuspended, isFirstPullAwaited { uploads.suspend() }
        let account = CloudAccount(remote, pusher, uploads, pulls, downloads, marked)
        info.afterCommits.open(account)
        uploads.listen {
            [weak transfers, weak reconciler, weak failures] event in
            transfers?.handle(event)
            reconciler?.handle(event)
            failures?.handle(event)
        }
        await reconciler.repair()
        account.subscribe(to: stack)
        if !options.isSuspended, !isFirstPullAwaited { uploads.resume() }
        pulls.start { isFirst in
            if isFirst, isFirstPullAwaited { uploads.resume() }
            marked.look()
        }
        // The observed objects keep their observers forever, so these closures capture the account's parts weakly.
        reachability.observe { [weak pusher, weak pulls, weak marked] in
            guard let pusher, pusher.failures.reachability.isSatisfied else { return }
            pulls?.hasten()
            marked?.look()
            pusher.reconciler.retryAborts()
        }
        availability.observe { [weak pusher, weak pulls, weak marked] in
            pulls?.availabilityChanged()
            guard let pusher, pusher.availability.isSatisfied else { return }
            marked?.look()
            pusher.reconciler.retryAborts()
        }
        // The remote may have become available before it was observed.
        pulls.availabilityChanged()
        marked.look()
        reconciler.start()
        return account
    }

    /// Subscribes to the commits of the store until the account is closed.
    private func subscribe(to stack: ContextStack) {
        let listening = stack.listen {
            [weak reconciler, weak marked] news in
            reconciler?.handle(news)
            marked?.handle(news)
        }
        self.listening.withLock { $0 = listening }
    }

    /// Closes the account and ends its work. Queued operations stay queued.
    ///
    /// - Parameter grace: how long running transfers may continue.
    public func close(grace: Duration = .zero) async {
        listening.withLock { $0 = nil }
        info.afterCommits.close()
        await pulls.stop()
        await marked.stop()
        await reconciler.stop { await uploads.close(grace: grace) }
        await downloads.close()
        downloads.transfers.close()
        availability.close()
    }

    // MARK: Downloading

    /// Downloads the marked sections that the account's ``DownloadPolicy`` wants.
    ///
    /// The method returns when each of these sections has arrived, its mark is removed, and the handler's `didDownload`
    /// has returned. If the policy wants none, as with ``DownloadPolicy/onDemand``, nothing happens.
    ///
    /// The account also downloads marked sections automatically. Call this method to know when they have arrived, or to
    /// retry failed ones at once. Sections that are marked during the call are left to the next pass. Cancelling the
    /// task ends the wait; the downloads continue.
    ///
    /// - Throws: ``CloudError`` with `downloadsFailed` if a section has not arrived. Its `nodes` contains the nodes
    ///   whose sections stay marked, its message names the first of them with their reasons, and its `underlying` is
    ///   the first reason, a `RemoteError`. The other sections have arrived. Also ``CloudError`` with `closed`;
    ///   `CancellationError`; errors of the store.
    public func downloadMarked() async throws { try await marked.fetchNow() }

    // MARK: Pulling

    /// Fetches the changes of other clients from the remote, and applies them commit by commit.
    ///
    /// Concurrent calls run one after the other.
    ///
    /// A file is removed here only if all of these are true: the remote has shown the file since its last upload from
    /// here, a complete listing lacks the file, and a request for the file itself does not find it.
    ///
    /// - Parameter ignoringRemovalLimit: whether the pull removes any number of files, regardless of
    ///   ``PullPolicy/removalLimit``. Pass true after a person has confirmed the removals.
    /// - Returns: a summary of the changes found.
    /// - Throws: `RemoteError`, with `inconsistentListing` if the remote does not list objects that it has;
    ///   ``CloudError`` with `incompatibleRemote` if the remote has lost everything, and with `tooManyRemovals`; errors
    ///   of the store and of the handler. Earlier commits of the pull stay, and the next pull finds the rest.
    /// - Complexity: O(nodes of the account), in memory as well.
    @discardableResult
    public func pull(ignoringRemovalLimit: Bool = false) async throws -> PullSummary {
        try await pulls.pull(ignoringRemovalLimit: ignoringRemovalLimit)
    }

    /// Stops automatic pulls until ``resumePulls()`` is called the same number of times.
    public func suspendPulls() { pulls.suspend() }

    /// Reverts one call of ``suspendPulls()``.
    public func resumePulls() { pulls.resume() }

    // MARK: Waiting

    /// The constraint of operations whose credentials the remote has rejected.
    ///
    /// These operations wait until the application calls ``credentialsChanged()``.
    static let credentials: Constraint = "credentials"
    /// The constraint of uploads whose node another client has changed.
    static let conflict: Constraint = "conflict"
    /// The constraint of operations that have found the remote in another state than the known one.
    ///
    /// These operations wait for a complete pull.
    static let pullToEnd: Constraint = "pull"

    /// Retries operations that the remote has refused because of their credentials, or that wait for an encryption key.
    ///
    /// - Throws: the errors of the store.
    public func credentialsChanged() async throws {
        pusher.failures.credentialsChanged()
        let name = info.pipeline
        try await uploads.stack.overStore { context in
            let constraint = Self.credentials.rawValue
            for operation in try context.fetch(
                QueuedOperation.where { $0.pipeline == name && $0.constraint == constraint }
            ) { operation.retry() }
            try context.commit()
        }
    }
}
