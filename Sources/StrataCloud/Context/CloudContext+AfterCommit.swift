import Strata

extension CloudContext {
    /// Runs a body with the account once the changes of this context are in the store: after the commit that takes them, and outside of the task
    /// that has committed.
    ///
    /// Within ``CloudHandler/didPull(_:in:)`` and the other calls of a handler nothing is committed yet: whatever the block has made can be neither
    /// downloaded nor found by other contexts. Use this for work that follows the commit:
    ///
    /// ```swift
    /// func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
    ///     guard case .new(let node) = change, node.hasContent else { return }
    ///     let id = node.id
    ///     try cloud.afterCommit { account in
    ///         let file = try await account.downloads.fetch(id)
    ///         defer { file.release() }
    ///         await show(file.file)
    ///     }
    /// }
    /// ```
    ///
    /// It runs once for each commit that succeeds, as ``Strata/ObjectContext/afterCommit(_:)`` says: not where the commit fails, the changes are rolled
    /// back, or the block is run again. What the body throws is logged as a warning. The bodies of a commit run side by side. They are
    /// cancelled when the account is closed, and are not durable: to have a download survive the end of the process, mark the node.
    ///
    /// - Throws: ``CloudError`` with `closed` for the context of an account that is not open, as ``Strata/ObjectContext/cloud(accountID:)`` gives it.
    public func afterCommit(_ body: @escaping @Sendable (CloudAccount) async throws -> Void) throws {
        let work = facts.afterCommits
        guard work.isOpen else {
            throw CloudError(
                .closed,
                "The account '\(account)' is not open by way of this context. Open it, and take `context.cloud(account)`."
            )
        }
        let ticket = AfterCommits.Ticket()
        context.afterCommit {
            work.begin(ticket)
        } _: {
            await work.run(ticket, body)
        }
    }
}
