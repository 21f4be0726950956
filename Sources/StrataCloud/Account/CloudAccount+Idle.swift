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
    /// - a hold that the application has set, `suspend()` of the uploads or pulls, or an operator's pause of the
    ///   uploads;
    /// - a pull or a marked download that has failed.
    ///
    /// Operations that depend on any of these wait as well. Remove the cause, for example by
    /// `retryFailed(in:)` or ``credentialsChanged()``, and call this method again. With a
    /// ``PullPolicy`` of intervals, the account is idle in the pauses between pulls.
    ///
    /// - Throws: ``CloudError`` with `stalled`, whose `nodes` contains at most 1,000 waiting nodes; ``CloudError`` with
    ///   `closed` if the account is closed; `CancellationError`, which ends only the wait; `PipelineError` with
    ///   `invalidArgument` if one of the account's own operations calls this method, because the operation would wait
    ///   for itself; the errors of the store.
    /// - Complexity: O(failed and held operations) for each check. A long wait checks ten times a second.
    public func waitUntilIdle() async throws {
        var pause = Duration.milliseconds(1)
        var last: RemainingWork?
        while true {
            await waitForCurrentWork()
            let remaining = try await remainingWork()
            // Work that ended during the first check may have started other work, which the second check finds.
            if let remaining, let last, remaining.isSame(as: last) {
                guard let error = remaining.error(of: self) else { return }
                throw error
            }
            let isFirst = last == nil
            last = remaining
            if remaining != nil, isFirst { continue }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    private func waitForCurrentWork() async {
        await uploads.waitForPasses()
        await reconciler.waitUntilIdle()
        await marked.waitUntilIdle()
    }

    /// The remaining work, if only an outside event can continue it; nil if any of the work continues without one.
    private func remainingWork() async throws -> RemainingWork? {
        if let remaining = try await remainingWorkDuringOutage() { return remaining }
        do {
            guard try await !uploads.isWorking() || isSuspended else { return nil }
        } catch let error as PipelineError where error.code == .closed { throw CloudError.closedAccount }
        var remaining = RemainingWork()
        let pullStatus = pulls.status
        switch pullStatus {
        case .busy: return nil
        case .failed(let error) where pulls.isPeriodic: remaining.add("the last pull has failed: \(error)", error)
        case .failed, .suspended, .idle: break
        }
        let (info, policy, isSuspended, isInboxAway) = (info, downloads.policy, isSuspended, pusher.inboxes.isAnyAway)
        let found = try await uploads.stack.overStore { context in
            var standstill = isSuspended ? "the uploads are suspended" : nil
            let pause = try context.pipelineSettings(of: info.pipeline).isPaused
            if pause.value { standstill = "'\(pause.change?.by ?? "")' has paused the uploads" }
            return try IdleLook(
                cloud: CloudContext(context, info),
                standstill: standstill,
                isInboxAway: isInboxAway
            ).look(pullStatus, policy)
        }
        guard let found, !info.afterCommits.isBusy else { return nil }
        remaining.add(found)
        return remaining
    }

    /// The operations that wait for an unreachable remote.
    ///
    /// The result is nil if the remote is not known to be unreachable, or if no operations are queued.
    private func remainingWorkDuringOutage() async throws -> RemainingWork? {
        guard let error = outage?.error, error.code == .unreachable else { return nil }
        let info = info
        let nodes = try await uploads.stack.overStore { context in
            let pipeline = info.pipeline
            let operations = QueuedOperation.where { $0.pipeline == pipeline }.limit(1_000)
            // The lane of an operation is the number of its node.
            return try context.column(operations, \.lane).compactMap { Int64($0) }
        }
        if nodes.isEmpty { return nil }
        var remaining = RemainingWork()
        remaining.add("the network (the remote cannot be reached: \(error.message))", error)
        remaining.add(nodes)
        return remaining
    }

    private var isSuspended: Bool { uploads.suspensions > 0 || uploads.stack.pipelines.suspensions > 0 }

    /// The remaining work that only an outside event can continue.
    struct RemainingWork: Sendable {
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

        mutating func add(_ other: RemainingWork) {
            reasons += other.reasons
            add(other.nodes)
            underlying = underlying ?? other.underlying
        }

        /// The maximum number of nodes in the error.
        private static let most = 1000

        func isSame(as other: RemainingWork) -> Bool { reasons == other.reasons && nodes == other.nodes }

        func error(of account: CloudAccount) -> CloudError? {
            guard !reasons.isEmpty else { return nil }
            return CloudError(
                .stalled,
                "The account '\(account.id)' has work left that cannot continue by itself: "
                    + reasons.joined(separator: "; ") + ". Remove the cause, then wait again.",
                nodes: nodes,
                underlying: underlying
            )
        }
    }
}
