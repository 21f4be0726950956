import Strata
import StrataPipeline

extension CloudAccount {
    /// Waits until the account is idle.
    ///
    /// The account is idle if the queue is empty, no pull is running or due, the marked sections that the
    /// ``DownloadPolicy`` wants have arrived, and the bodies of ``CloudContext/afterCommit(_:)`` have ended.
    ///
    /// ```swift
    /// try await stack.background { context in
    ///     try context.cloud(account).createNode(at: "/letter")
    ///     try context.commit()
    /// }
    /// try await account.waitUntilIdle()    // the letter is at the remote
    /// ```
    ///
    /// The method waits for the next attempt of an operation, and for the pause that a server requests by
    /// `Retry-After`. The method also waits for operations that other processes run on the same store. It does not wait
    /// for events outside of the account, which may never come. If only such events can continue the work, it throws
    /// `stalled`, and the message names the reasons:
    ///
    /// - the network, or a remote or inbox that cannot be reached, even while the account keeps retrying it;
    /// - other credentials or keys, or a decision about a conflict;
    /// - an operation that has failed permanently, or an operation of another pipeline;
    /// - a hold that the application has set, or `suspend()` of the uploads or pulls;
    /// - a pull or a marked download that has failed.
    ///
    /// Operations that depend on any of these wait as well. Remove the cause, for example by
    /// ``Strata/ObjectContext/retryFailed(in:)`` or ``credentialsChanged()``, and call this method again. With a
    /// ``PullPolicy`` of intervals, the account is idle in the pauses between pulls.
    ///
    /// - Throws: ``CloudError`` with `stalled`, whose `nodes` contains at most 1,000 waiting nodes; ``CloudError`` with
    ///   `closed` if the account is closed; `CancellationError`, which ends only the wait; ``PipelineError`` with
    ///   `invalidArgument` if one of the account's own operations calls this method, because the operation would wait
    ///   for itself; the errors of the store.
    /// - Complexity: O(failed and held operations) for each check. A long wait checks ten times a second.
    public func waitUntilIdle() async throws {
        var pause = Duration.milliseconds(1)
        var last: Standing?
        while true {
            await settle()
            let standing = try await standing()
            // Work that ended during the first check may have started other work, which the second check finds.
            if let standing, let last, standing.isSame(as: last) {
                guard let error = standing.error(of: self) else { return }
                throw error
            }
            let isFirst = last == nil
            last = standing
            if standing != nil, isFirst { continue }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    private func settle() async {
        await push.settle()
        await pusher.failed.settle()
        await pusher.holders.settle()
        await marked.settle()
    }

    /// The remaining work, if only an outside event can continue it; nil if any of the work continues without one.
    private func standing() async throws -> Standing? {
        if let standing = try await standingWhileAway() { return standing }
        do {
            guard try await !push.isWorking() || isSuspended else { return nil }
        } catch let error as PipelineError where error.code == .closed { throw CloudError.closedAccount }
        var standing = Standing()
        let pullStanding = pulls.standing
        switch pullStanding {
        case .busy: return nil
        case .failed(let error) where pulls.isPeriodic: standing.add("the last pull has failed: \(error)", error)
        case .failed, .suspended, .idle: break
        }
        let (facts, policy, isSuspended, isInboxAway) = (facts, downloads.policy, isSuspended, pusher.inboxes.isAnyAway)
        let found = try await push.stack.overStore { context in
            try IdleLook(CloudContext(context, facts), isSuspended: isSuspended, isInboxAway: isInboxAway)
                .look(pullStanding, policy)
        }
        guard let found, !facts.afterCommits.isBusy else { return nil }
        standing.add(found)
        return standing
    }

    /// The operations that wait for an unreachable remote.
    ///
    /// The result is nil if the remote is not known to be unreachable, or if no operations are queued.
    private func standingWhileAway() async throws -> Standing? {
        guard let error = outage?.error, error.code == .unreachable else { return nil }
        let facts = facts
        let nodes = try await push.stack.overStore { context in
            let pipeline = facts.pipeline
            let operations = try context.fetch(QueuedOperation.where { $0.pipeline == pipeline }.limit(1_000))
            return try operations.map { try $0.payload(as: CloudWork.self).node }
        }
        if nodes.isEmpty { return nil }
        var standing = Standing()
        standing.add("the network (the remote cannot be reached: \(error.message))", error)
        standing.add(nodes)
        return standing
    }

    private var isSuspended: Bool { push.suspensions > 0 || push.stack.pipelines.suspensions > 0 }

    /// The remaining work that only an outside event can continue.
    struct Standing: Sendable {
        private(set) var reasons: [String] = []
        private(set) var nodes: [Int64] = []
        private(set) var underlying: (any Error)?

        mutating func add(_ reason: String, _ error: (any Error)? = nil) {
            reasons.append(reason)
            underlying = underlying ?? error
        }

        mutating func add(_ nodes: some Sequence<Int64>) {
            for node in nodes where self.nodes.count < Self.most && !self.nodes.contains(node) {
                self.nodes.append(node)
            }
        }

        mutating func add(_ other: Standing) {
            reasons += other.reasons
            add(other.nodes)
            underlying = underlying ?? other.underlying
        }

        /// The maximum number of nodes in the error.
        private static let most = 1000

        func isSame(as other: Standing) -> Bool { reasons == other.reasons && nodes == other.nodes }

        func error(of account: CloudAccount) -> CloudError? {
            guard !reasons.isEmpty else { return nil }
            return CloudError(
                .stalled,
                "The account '\(account.id)' has something left to do that waits for something else: "
                    + reasons.joined(separator: "; ") + ". Remove the cause, then wait again.",
                nodes: nodes,
                underlying: underlying
            )
        }
    }
}
