public import Strata

/// Progress is put together from what is queued and marked in the store and from what passes in this process. Nothing is written for it.
extension CloudAccount {
    /// How far all that the account sends and brings here has come. What is done counts from the moment at which the account was opened.
    ///
    /// - Throws: what the store reports.
    /// - Complexity: O(operations queued + sections marked).
    public func progress() async throws -> CloudProgress { try await reading.read(.account) }

    /// The same of one node, by itself.
    ///
    /// - Complexity: O(operations and marks of the node).
    public func progress(of node: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await reading.read(.node(node.number))
    }

    /// The same of a folder with everything below it.
    ///
    /// - Complexity: O((operations queued + sections marked) × depth).
    public func progress(below folder: ObjectID<CloudNode>) async throws -> CloudProgress {
        try await reading.read(.below(folder.number))
    }

    // MARK: Following

    /// The progress of the account, now and whenever it has changed: the newest, at most one in each interval by the account's clock. Ends when the
    /// account is closed.
    ///
    /// ```swift
    /// for try await progress in account.progressChanges() { bar.show(progress.uploads.fraction, progress.uploads.timeLeft) }
    /// ```
    ///
    /// - Complexity: that of ``progress()``, for each value.
    public func progressChanges(every interval: Duration = .milliseconds(500)) -> CloudProgressChanges {
        CloudProgressChanges(reading: reading, scope: .account, interval: interval)
    }

    /// The same of one node, by itself.
    public func progressChanges(
        of node: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(reading: reading, scope: .node(node.number), interval: interval)
    }

    /// The same of a folder with everything below it.
    public func progressChanges(
        below folder: ObjectID<CloudNode>,
        every interval: Duration = .milliseconds(500)
    ) -> CloudProgressChanges {
        CloudProgressChanges(reading: reading, scope: .below(folder.number), interval: interval)
    }

    private var reading: ProgressReading {
        ProgressReading(stack: downloads.stack, facts: facts, book: downloads.transfers)
    }
}
