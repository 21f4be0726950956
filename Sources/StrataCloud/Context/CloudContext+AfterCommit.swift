import Strata

extension CloudContext {
    /// Runs a body with the account after the changes of this context have reached the store.
    ///
    /// The body starts after the commit that writes these changes, outside of the task that made the commit.
    ///
    /// Inside ``CloudHandler/didPull(_:in:)`` and the other calls of a handler, nothing is committed yet. Other
    /// contexts cannot find the new nodes, and their content cannot be downloaded. Use this method for work that must
    /// follow the commit:
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
    /// The body runs once for each commit that succeeds, as described at `ObjectContext.afterCommit(_:)`. It
    /// does not run if the commit fails, if the changes are rolled back, or if the block is run again. An error that
    /// the body throws is logged as a warning. The bodies of one commit run concurrently. Closing the account cancels
    /// them. The bodies are not durable: to make a download survive the end of the process, mark the node.
    ///
    /// - Throws: ``CloudError`` with `closed` if the account is not open, as in a context from
    ///   ``Strata/ObjectContext/cloud(accountID:)``.
    public func afterCommit(_ body: @escaping @Sendable (CloudAccount) async throws -> Void) throws {
        let work = info.afterCommits
        guard work.isOpen else {
            throw CloudError(
                .closed,
                "The account '\(account)' is not open in this context. Open the account, and use "
                    + "`context.cloud(account)`."
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
