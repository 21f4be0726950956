public import Strata

/// Progress combines the queued operations and download marks in the store with the transfers in this process. Nothing
/// is stored for it.
extension CloudAccount {
    /// The progress of all uploads and downloads of the account. Completed transfers count from the moment when the
    /// account was opened.
    ///
    /// Sections that are marked for download count as left if they will be downloaded: the sections that the account's
    /// ``DownloadPolicy`` wants, and with ``DownloadPolicy/byApplication`` all of them.
    ///
    /// - Throws: errors of the store.
    /// - Complexity: O(operations queued + sections marked).
    public func progress() async throws -> CloudProgress { try await read(.account) }

    /// The progress of one node, without the nodes below it. Completed transfers count as long as the node is among the
    /// last 4096 nodes with completed transfers.
    ///
    /// - Complexity: O(operations and marks of the node).
    public func progress(of node: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await read(.node(node.rawValue))
    }

    /// The progress of a folder and everything below it. Completed transfers count for the last 4096 nodes with
    /// completed transfers, inside or outside the folder.
    ///
    /// - Complexity: O((operations queued + sections marked) × depth).
    public func progress(below folder: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await read(.below(folder.rawValue))
    }

    // MARK: Observing

    /// A sequence of the account's progress: the current value, and the newest value after each change. It gives at
    /// most one value per interval, by the account's clock, and ends when the account or its stack is closed.
    ///
    /// ```swift
    /// for try await progress in account.progressChanges() {
    ///     bar.show(progress.uploads.fraction, progress.uploads.timeLeft)
    /// }
    /// ```
    ///
    /// If the account is closed, a running iteration gets the last value, and then ends.
    ///
    /// A running iteration holds some hundred bytes in memory for each node with work left.
    ///
    /// - Complexity: the first value costs as much as ``progress()``. Each later one costs O(changes since the last
    ///   value), unless another process has made changes.
    public func progressChanges(every interval: Duration = .milliseconds(500)) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .account, interval: interval)
    }

    /// A sequence of the progress of one node, without the nodes below it.
    public func progressChanges(
        of node: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .node(node.rawValue), interval: interval)
    }

    /// A sequence of the progress of a folder and everything below it.
    public func progressChanges(
        below folder: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(source: source, scope: .below(folder.rawValue), interval: interval)
    }

    private var source: ProgressSource {
        ProgressSource(stack: downloads.stack, info: info, tracker: downloads.transfers, policy: downloads.policy)
    }

    private func read(_ scope: ProgressScope) async throws -> CloudProgress {
        var reading = ProgressReading(source, scope)
        return try await reading.read()
    }
}
