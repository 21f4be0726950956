public import Foundation
public import Strata
import StrataPipeline

extension CloudAccount {
    /// Removes an account that is not open from the store: its tree, what is queued for it and what is known of that, marks, tags, conflicts, and
    /// its files in the cache and beside it. At the remote everything stays, parts of uploads that were broken off among it, and objects of the
    /// application's that nodes have stood for stay as well.
    ///
    /// To sign out for a while, ``close(grace:)`` the account: what is queued waits until it is opened once more.
    ///
    /// It takes several commits. Where it is broken off, as by the end of the process, the account can be neither opened nor looked at until another
    /// call has come to the end, which discards what is left to send without asking.
    ///
    /// - Parameters:
    ///   - stack: the stack.
    ///   - id: the id of the account.
    ///   - discardsUnsent: whether that is given up which was not sent.
    ///   - cacheFolder: the folder that it was opened with.
    /// - Throws: ``CloudError`` with `noSuchAccount`, or `unsentWork`, after which nothing has changed; `PipelineError` with `alreadyOpen` where it
    ///   is open in this process; what the store and the cache report.
    /// - Complexity: O(nodes and operations of the account).
    public static func remove(
        _ stack: ContextStack,
        id: String,
        discardsUnsent: Bool = false,
        cacheFolder: URL? = nil
    ) async throws {
        let facts = try await stack.overStore { AccountFacts(try $0.accountRecord(id)) }
        // Nobody opens it meanwhile.
        let closed: Pipeline
        do {
            closed = try await Pipeline.open(stack, named: facts.pipeline, isSuspended: true) {
                (_: Attempt<CloudWork>) in .skip
            }
        } catch let error as PipelineError where error.code == .alreadyOpen { throw openError(id) }
        do {
            let removal = AccountRemoval(stack: stack, facts: facts)
            try await removal.begin(discardsUnsent: discardsUnsent)
            try await removal.leaveOutAll()
            try await removeFiles(of: id, in: Downloads.folder(cacheFolder, of: stack))
            try await removal.finish()
        } catch {
            await closed.close()
            throw error
        }
        await closed.close()
    }

    static func openError(_ id: String) -> PipelineError {
        PipelineError(.alreadyOpen, "The account '\(id)' is open on this stack already. Close it first.")
    }

    private static func removeFiles(of account: String, in folder: URL) async throws {
        try PartialFile.removeAll(of: account, in: Downloads.partials(in: folder))
        let files = Downloads.files(in: folder)
        guard FileManager.default.fileExists(atPath: files.path(percentEncoded: false)) else { return }
        let cache = try await DiskCache.open(files, limit: .max)
        try await cache.removeAll(account: account)
        try await cache.close()
    }
}

/// Takes an account out of a store, the account itself last.
private struct AccountRemoval {
    let stack: ContextStack
    let facts: AccountFacts

    /// Writes down that nobody is to open it any more.
    func begin(discardsUnsent: Bool) async throws {
        let (account, name) = (facts.account, facts.pipeline)
        try await stack.overStore { context in
            let record = try context.accountRecord(account)
            guard !record.isBeingRemoved else { return }
            let count = discardsUnsent ? 0 : try context.count(QueuedOperation.where { $0.pipeline == name })
            guard count == 0 else {
                throw CloudError(
                    .unsentWork,
                    "\(count) operations of the account '\(account)' are queued. Open it until they are done, or discard them."
                )
            }
            record.isBeingRemoved = true
            try context.commit()
        }
    }

    func finish() async throws {
        let (account, name) = (facts.account, facts.pipeline)
        try await stack.overStore { context in
            try context.batchDelete(FinishedOperation.where { $0.pipeline == name })
            try context.batchDelete(CloudConflict.where { $0.account == account })
            try context.batchDelete(CloudTag.where { $0.account == account })
            try context.batchDelete(PartialUpload.where { $0.account == account })
            try context.batchDelete(SealedUpload.where { $0.account == account })
            try context.batchDelete(RemoteNode.where { $0.account == account })
            try removeNodes(context)
            try context.batchDelete(.account(account))
        }
    }

    func leaveOutAll() async throws {
        var before = Int.max
        while true {
            let count = try await leaveOut()
            if count == 0 { return }
            // What another process has begun is left out when that notices, or its lease has ended.
            if count >= before { try await Task.sleep(for: .milliseconds(100)) }
            before = count
        }
    }

    /// Leaves out some of what is queued, those first that depend on others.
    ///
    /// - Returns: how many were queued.
    private func leaveOut() async throws -> Int {
        let name = facts.pipeline
        return try await stack.overStore { context in
            let query = QueuedOperation.where { $0.pipeline == name }
            let operations = try context.fetch(query.sorted { $0.commit.descending }.limit(Self.portion))
            for operation in operations { operation.skip() }
            let count = try context.count(query)
            try context.commit()
            return count
        }
    }

    /// Deletes the nodes, what lies deepest first: some that nothing lies in at a time.
    private func removeNodes(_ context: ObjectContext) throws {
        let account = facts.account
        while true {
            let deleted = try context.batchDelete(
                CloudNode.where { $0.account == account && $0.children.isEmpty }
            )
            if deleted.isEmpty { return }
        }
    }

    private static let portion = 500
}
