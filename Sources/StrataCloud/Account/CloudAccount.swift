public import Strata
public import StrataPipeline
import Synchronization

/// An account with its tree, and what brings the tree to its remote.
///
/// ```swift
/// let account = try await CloudAccount.open(stack, id: "alice", remote: folder, handler: NotesHandler())
/// ```
///
/// Several accounts stand side by side in one store, each with operations of its own, which only its own remote is sent.
///
/// - Isolation: any.
public final class CloudAccount: Sendable {
    /// The models that a stack is opened with, beside the application's own. Those of ``Pipeline`` are among them.
    public static let models: [any Model.Type] =
        Pipeline.models + [
            AccountRecord.self, CloudNode.self, RemoteNode.self, CloudAccess.self, PartialUpload.self,
            DownloadMark.self,
            CloudTag.self,
            CloudConflict.self,
            SealedUpload.self,
        ]

    /// The id.
    public let id: String
    /// What sends what is queued.
    public let push: Pipeline
    /// The remote.
    public let remote: any Remote
    let facts: AccountFacts
    /// What brings content here.
    public let downloads: Downloads
    let pulls: PullLoop
    let marked: MarkedDownloads
    let pusher: Pusher
    let availability: RemoteAvailability
    /// Has it told of the commits of the store.
    private let listening = Mutex<CommitListening?>(nil)

    private init(
        _ remote: any Remote,
        _ pusher: Pusher,
        _ push: Pipeline,
        _ pulls: PullLoop,
        _ downloads: Downloads,
        _ marked: MarkedDownloads
    ) {
        (self.downloads, self.marked) = (downloads, marked)
        (id, facts, self.remote) = (pusher.facts.account, pusher.facts, remote)
        availability = pusher.availability
        (self.pusher, self.push, self.pulls) = (pusher, push, pulls)
    }

    /// Sets an account up, or takes up the work of one that was, what is left from before among it.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - id: the application's id for it, which stays the same.
    ///   - remote: where its tree is kept. It need not be reachable.
    ///   - handler: gives content, and hears of what becomes of nodes.
    ///   - options: how it works, where that is not as by default.
    /// - Throws: ``CloudError`` with `modelsMissing`, `otherRemote` or `sealingMissing`; ``PipelineError`` with `alreadyOpen`; what the store reports.
    public static func open(
        _ stack: ContextStack,
        id: String,
        remote: any Remote,
        handler: any CloudHandler,
        options: CloudOptions = CloudOptions()
    ) async throws -> CloudAccount {
        guard stack.knows(AccountRecord.self), stack.knows(QueuedOperation.self) else {
            throw CloudError(.modelsMissing, "Open the stack with `CloudAccount.models` beside your own.")
        }
        let facts = try await AccountSetup(stack, id, remote, options.names, isSealed: options.sealing != nil).facts()
        try await stack.overStore { context in
            if try CloudContext(context, facts).sendOrphansAnew() { try context.commit() }
        }
        let reachability =
            options.reachability ?? ManualConstraint(Constraint(rawValue: "reachable.\(id)"), isSatisfied: true)
        let transfers = TransferBook(options.clock, maxUploadRate: options.maxUploadRate)
        let availability = RemoteAvailability(remote, options.retry, reachability, options.clock)
        let watched = WatchedRemote(CheckedRemote(remote), availability)
        let downloads = Downloads(stack, facts, watched, availability, options, transfers)
        let marked = MarkedDownloads(downloads, handler, options)
        let isFirstPullAwaited = options.pull.isPushWaiting
        let puller = Puller(stack: stack, facts: facts, remote: watched, handler: handler)
        let pulls = PullLoop(puller, availability, options)
        let pusher = Pusher(stack, facts, watched, handler, options, reachability, availability, transfers) {
            pulls.beAwaited()
        }
        let push: Pipeline
        do {
            push = try await Pipeline.open(
                stack,
                named: facts.pipeline,
                maxConcurrent: options.maxConcurrent,
                retry: options.retry,
                constraints: [reachability, pulls.awaited, pusher.credentials],
                gate: PipelineGate(availability, exemptKeys: CloudContext.elsewhere),
                // Nothing is carried out before all that follows it is there.
                isSuspended: true,
                clock: options.clock
            ) { (attempt: Attempt<CloudWork>) in try await pusher.carryOut(attempt) }
        } catch let error as PipelineError where error.code == .alreadyOpen { throw Self.openError(id) }
        // Each of the two holds it up, whichever ends first.
        if options.isSuspended, isFirstPullAwaited { push.suspend() }
        let account = CloudAccount(remote, pusher, push, pulls, downloads, marked)
        facts.afterCommits.open(account)
        push.listen {
            [
                weak transfers, weak holders = pusher.holders, weak failed = pusher.failed, weak pauses = pusher.pauses,
                weak folders = pusher.missingFolders
            ] event in
            transfers?.note(event)
            holders?.note(event)
            failed?.note(event)
            pauses?.note(event)
            folders?.note(event)
        }
        do { try await pusher.holders.sweep() } catch {
            stack.log(.info, "what holds messages that are sent stays until the account is opened again: \(error)")
        }
        account.follow(stack)
        await account.removeOrphans()
        if !options.isSuspended, !isFirstPullAwaited { push.resume() }
        pusher.failed.look()
        pulls.start { isFirst in
            if isFirst, isFirstPullAwaited { push.resume() }
            marked.look()
        }
        // What observes is kept for ever by what it observes.
        reachability.observe { [weak pusher, weak pulls, weak marked] in
            guard let pusher, pusher.reachability.isSatisfied else { return }
            pulls?.hasten()
            marked?.look()
            pusher.abandoned.lookAnew()
        }
        availability.observe { [weak pusher, weak pulls, weak marked] in
            pulls?.availabilityChanged()
            guard let pusher, pusher.availability.isSatisfied else { return }
            marked?.look()
            pusher.abandoned.lookAnew()
        }
        marked.look()
        pusher.abandoned.lookAnew()
        return account
    }

    /// Follows the commits of the store until it is closed.
    private func follow(_ stack: ContextStack) {
        let listening = stack.listen {
            [weak abandoned = pusher.abandoned, weak failed = pusher.failed, weak marked] news in
            abandoned?.note(news)
            failed?.note(news)
            marked?.note(news)
        }
        self.listening.withLock { $0 = listening }
    }

    /// Removes tags and marks that nothing leads to any more, as earlier versions have left them.
    private func removeOrphans() async {
        let (stack, facts) = (push.stack, facts)
        do {
            try stack.transact(author: "strata.cloud") { transaction in
                try CloudNode.deleteOrphanedTags(of: facts.account, in: transaction)
            }
            try await stack.overStore { context in
                if try CloudContext(context, facts).removeMarksInVain() { try context.commit() }
            }
        } catch {
            stack.log(.info, "tags and marks without a node stay until the account is opened again: \(error)")
        }
    }

    /// Ends its work. What is queued stays.
    ///
    /// - Parameter grace: how long transfers may go on.
    public func close(grace: Duration = .zero) async {
        listening.withLock { $0 = nil }
        facts.afterCommits.close()
        await pulls.stop()
        await marked.stop()
        await pusher.abandoned.stop()
        await pusher.failed.stop()
        await push.close(grace: grace)
        await pusher.holders.settle()
        await downloads.close()
        downloads.transfers.close()
        availability.close()
    }

    // MARK: Downloading

    /// Downloads the marked sections that the account's ``DownloadPolicy`` wants, and returns when each has arrived, its mark is removed, and the handler's
    /// `didDownload` has returned. If the policy wants none, as ``DownloadPolicy/onDemand``, nothing happens.
    ///
    /// The account downloads marked sections by itself as well. Call this to know when they have arrived, or to retry failed ones at once. Sections that
    /// are marked during the call are left to the next pass. Cancelling the task ends the wait; the downloads continue.
    ///
    /// - Throws: ``CloudError`` with `downloadsFailed` if a section has not arrived: `nodes` has the nodes whose sections stay marked, the message names the
    ///   first of them with their reasons, and `underlying` is the first reason, as a ``RemoteError``. The other sections have arrived. ``CloudError`` with
    ///   `closed`; `CancellationError`; errors of the store.
    public func downloadMarked() async throws { try await marked.fetchNow() }

    // MARK: Pulling

    /// Looks at what others have changed at the remote, and brings it here, commit by commit. Several at once are one after the other.
    ///
    /// A file is removed here only if the remote has shown it since it was last sent from here, a complete listing lacks it, and a request for the
    /// file itself finds nothing.
    ///
    /// - Parameter ignoringRemovalLimit: whether it removes any number of files, whatever ``PullPolicy/removalLimit`` says: for a person who was asked.
    /// - Returns: what was found.
    /// - Throws: ``RemoteError``, with `inconsistentListing` if the remote does not list what it has; ``CloudError``
    ///   with `remoteUnfit` if the remote has lost everything, and with `tooManyRemovals`; errors of the store and of
    ///   the handler. Earlier commits of the pull stay, and the next pull finds the rest.
    /// - Complexity: O(nodes of the account), in memory as well.
    @discardableResult
    public func pull(ignoringRemovalLimit: Bool = false) async throws -> PullSummary {
        try await pulls.pull(ignoringRemovalLimit: ignoringRemovalLimit)
    }

    /// Pulls no more by itself, until ``resumePulls()`` is called as often.
    public func suspendPulls() { pulls.suspend() }

    /// Takes one ``suspendPulls()`` back.
    public func resumePulls() { pulls.resume() }

    // MARK: Waiting

    /// What operations wait for when the remote does not take the credentials: for somebody who says that they have changed.
    static let credentials: Constraint = "credentials"
    /// What uploads wait for whose node was changed by somebody else.
    static let conflict: Constraint = "conflict"
    /// What operations wait for to which the remote has shown that it is otherwise than it was known to be.
    static let pullToEnd: Constraint = "pull"

    /// Lets operations be tried again that the remote has refused for their credentials, or that wait for a key by which content is sealed.
    ///
    /// - Throws: what the store reports.
    public func credentialsChanged() async throws {
        pusher.credentialsChanged()
        let name = facts.pipeline
        try await push.stack.overStore { context in
            let constraint = Self.credentials.rawValue
            for operation in try context.fetch(
                QueuedOperation.where { $0.pipeline == name && $0.constraint == constraint }
            ) { operation.retry() }
            try context.commit()
        }
    }
}
