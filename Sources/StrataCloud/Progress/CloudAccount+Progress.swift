public import Strata

/// Progress is put together from what is queued and marked in the store and from what passes in this process. Nothing is written for it.
extension CloudAccount {
    /// How far all that the account sends and brings here has come. What is done counts from the moment at which the account was opened.
    ///
    /// Of the sections marked for download, those count as left that will be downloaded: the sections that the
    /// account's ``DownloadPolicy`` wants, and with ``DownloadPolicy/byApplication`` all of them.
    ///
    /// - Throws: what the store reports.
    /// - Complexity: O(operations queued + sections marked).
    public func progress() async throws -> CloudProgress { try await read(.account) }

    /// The same of one node, by itself. What is done counts as long as it is among the last 4096 nodes of which something was.
    ///
    /// - Complexity: O(operations and marks of the node).
    public func progress(of node: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await read(.node(node.number))
    }

    /// The same of a folder with everything below it. What is done counts of the last 4096 nodes of which something was, in the folder or not.
    ///
    /// - Complexity: O((operations queued + sections marked) × depth).
    public func progress(below folder: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await read(.below(folder.number))
    }

    // MARK: Following

    /// The progress of the account, now and whenever it has changed: the newest, at most one in each interval by the account's clock. Ends when the
    /// account is closed.
    ///
    /// ```swift
    /// for try await progress in account.progressChanges() { bar.show(progress.uploads.fraction, progress.uploads.timeLeft) }
    /// ```
    ///
    /// Meanwhile some hundred bytes are held for each node with something left.
    ///
    /// - Complexity: the first value that of ``progress()``, each later one O(what has changed since), unless another process has changed it.
    public func progressChanges(every interval: Duration = .milliseconds(500)) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .account, interval: interval)
    }

    /// The same of one node, by itself.
    public func progressChanges(
        of node: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .node(node.number), interval: interval)
    }

    /// The same of a folder with everything below it.
    public func progressChanges(
        below folder: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .below(folder.number), interval: interval)
    }

    private var source: ProgressSource {
        ProgressSource(stack: downloads.stack, facts: facts, book: downloads.transfers, policy: downloads.policy)
    }

    private func read(_ scope: ProgressScope) async throws -> CloudProgress {
        var reading = ProgressReading(source, scope)
        return try await reading.read()
    }
}
