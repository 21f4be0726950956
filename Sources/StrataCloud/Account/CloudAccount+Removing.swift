public import Foundation
public import Strata
import StrataPipeline

extension CloudAccount {
    /// Removes an account that is not open from the store.
    ///
    /// The removal deletes the account's tree, its queued operations with their history and upload state, its marks,
    /// tags and conflicts, its files in the cache, and its partial downloads beside the cache. All files at the remote
    /// stay, including parts of interrupted uploads. The application's objects that nodes were linked to stay as well.
    ///
    /// To sign out for a while, ``close(grace:)`` the account: its queued operations wait until the account is opened
    /// again.
    ///
    /// The removal takes several commits. If it is interrupted, for example by the end of the process, the account can
    /// be neither opened nor read until another call completes the removal. That call discards the remaining uploads
    /// without asking.
    ///
    /// - Parameters:
    ///   - stack: the stack.
    ///   - id: the id of the account.
    ///   - discardsUnsent: whether queued operations are discarded. If false, any queued operation throws
    ///     `pendingUploads`.
    ///   - cacheFolder: the cache folder that the account was opened with.
    /// - Throws: ``CloudError`` with `noSuchAccount`, or with `pendingUploads`, after which nothing has changed;
    ///   `PipelineError` with `alreadyOpen` if the account is open in this process; the errors of the store and of the
    ///   cache.
    /// - Complexity: O(nodes and operations of the account).
    public static func remove(
        _ stack: ContextStack,
        id: String,
        discardsUnsent: Bool = false,
        cacheFolder: URL? = nil
    ) async throws {
        let info = try await stack.overStore { AccountInfo(try $0.accountRecord(id)) }
        // The open pipeline prevents other callers from opening the account meanwhile.
        let closed: Pipeline
        do {
            closed = try await Pipeline.open(stack, named: info.pipeline, options: PipelineOptions(isSuspended: true)) {
                (_: Attempt<CloudWork>) in .skip
            }
        } catch let error as PipelineError where error.code == .alreadyOpen { throw openError(id) }
        do {
            let removal = AccountRemoval(stack: stack, info: info)
            try await removal.begin(discardsUnsent: discardsUnsent)
            try await removal.skipAll()
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

/// Removes an account from a store. The account's record is deleted last.
private struct AccountRemoval {
    let stack: ContextStack
    let info: AccountInfo

    /// Records that the account must not be opened any more.
    func begin(discardsUnsent: Bool) async throws {
        let (account, name) = (info.account, info.pipeline)
        try await stack.overStore { context in
            let record = try context.accountRecord(account)
            guard !record.isBeingRemoved else { return }
            let count = discardsUnsent ? 0 : try context.count(QueuedOperation.where { $0.pipeline == name })
            guard count == 0 else {
                throw CloudError(
                    .pendingUploads,
                    "\(count) operations of the account '\(account)' are queued. Open it until they are done, or discard them."
                )
            }
            record.isBeingRemoved = true
            try context.commit()
        }
    }

    func finish() async throws {
        let (account, name) = (info.account, info.pipeline)
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

    func skipAll() async throws {
        var before = Int.max
        while true {
            let count = try await skipBatch()
            if count == 0 { return }
            // An operation that another process runs is skipped after that process notices the skip, or after its lease
            // has expired.
            if count >= before { try await Task.sleep(for: .milliseconds(100)) }
            before = count
        }
    }

    /// Skips up to 500 queued operations, dependent ones first.
    ///
    /// - Returns: the number of queued operations before this commit.
    private func skipBatch() async throws -> Int {
        let name = info.pipeline
        return try await stack.overStore { context in
            let query = QueuedOperation.where { $0.pipeline == name }
            let operations = try context.fetch(query.sorted { $0.commit.descending }.limit(Self.chunkSize))
            for operation in operations { operation.skip() }
            let count = try context.count(query)
            try context.commit()
            return count
        }
    }

    /// Deletes the nodes from the bottom up: each pass deletes the nodes without children. In a damaged store, folders
    /// may form a ring, which remains until the end.
    private func removeNodes(_ context: SavingContext) throws {
        let account = info.account
        while true {
            let deleted = try context.batchDelete(
                CloudNode.where { $0.account == account && $0.children.isEmpty }
            )
            if deleted.isEmpty { break }
        }
        try context.batchDelete(CloudNode.where { $0.account == account })
    }

    private static let chunkSize = 500
}
