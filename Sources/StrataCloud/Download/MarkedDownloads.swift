import Strata
import StrataPipeline
import Synchronization

/// Downloads marked sections automatically: when the account is opened, after a section was marked, when the network
/// returns, and after each pull.
///
/// The commit that removes a mark also notifies the handler. A section that has not arrived stays marked for the next
/// pass.
final class MarkedDownloads: Sendable {
    private struct State {
        var lastWaiter = 0
        /// The callers that wait for the end of the next pass, or of the current pass if it began after their call.
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var isStopped = false
    }

    private let downloads: Downloads
    private let handler: any CloudHandler
    private let maxConcurrent: Int
    private let looks = RepeatedTask()
    private let state = Mutex(State())
    /// The number of concurrent downloads if the account does not limit operations.
    private static let most = 8

    init(_ downloads: Downloads, _ handler: any CloudHandler, _ options: CloudOptions) {
        (self.downloads, self.handler) = (downloads, handler)
        maxConcurrent = max(1, options.maxConcurrent ?? Self.most)
    }

    /// Requests a pass over the marked sections, now or after the current pass.
    func look() {
        if downloads.policy.isAutomatic { looks.ask { await self.lookOnce() } }
    }

    /// Downloads the sections that are marked now, and waits until they have arrived.
    ///
    /// - Throws: ``CloudError`` with `downloadsFailed` or `closed`; `CancellationError`; the errors of the store.
    func fetchNow() async throws {
        guard downloads.policy.isAutomatic else { return }
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let error: (any Error)? = state.withLock { state in
                    if state.isStopped { return CloudError.closedAccount }
                    if Task.isCancelled { return CancellationError() }
                    state.waiters[id] = continuation
                    return nil
                }
                if let error { continuation.resume(throwing: error) } else { look() }
            }
        } onCancel: {
            resume([id], .failure(CancellationError()))
        }
    }

    private func resume(_ ids: some Sequence<Int>, _ result: Result<Void, any Error>) {
        let waiters = state.withLock { state in ids.compactMap { state.waiters.removeValue(forKey: $0) } }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func lookOnce() async {
        let waiters = state.withLock { Array($0.waiters.keys) }
        do {
            let failures = try await fetchAll()
            if Task.isCancelled { return resume(waiters, .failure(CloudError.closedAccount)) }
            resume(waiters, failures.isEmpty ? .success(()) : .failure(CloudError.failed(failures)))
        } catch {
            downloads.stack.log(.warning, "marked nodes cannot be read: \(error)")
            resume(waiters, .failure(error))
        }
    }

    /// Requests a pass after commits that may have marked a section.
    func handle(_ news: [ChangeSet]?) {
        let isDue = news?.contains { $0.contains(DownloadMark.self) && !$0.of(DownloadMark.self).inserted.isEmpty }
        if isDue ?? true { look() }
    }

    /// Waits for the end of all requested passes.
    func waitUntilIdle() async { await looks.waitUntilIdle() }

    func stop() async {
        state.withLock { $0.isStopped = true }
        await looks.stop()
        resume(state.withLock { Array($0.waiters.keys) }, .failure(CloudError.closedAccount))
    }

    fileprivate struct Wanted: Sendable {
        let node: ObjectID<CloudNode>
        let path: TreePath
        let isFolder: Bool
        let section: ContentSections
        /// The version that was known when the pass began.
        let version: ETag?
    }

    /// A section that has not arrived, and the reason.
    fileprivate struct Failure: Sendable {
        let item: Wanted
        let reason: any Error
    }

    /// Downloads the marked sections that the policy wants.
    ///
    /// - Returns: the sections that have not arrived, and are still marked.
    private func fetchAll() async throws -> [Failure] {
        let info = downloads.info
        let wanted = try await wanted()
        let failures = await withTaskGroup(of: Failure?.self) { group in
            var failures: [Failure] = []
            for (index, item) in wanted.enumerated() {
                if index >= maxConcurrent, let failure = await group.next() ?? nil { failures.append(failure) }
                group.addTask { await self.fetch(item) }
            }
            for await failure in group { if let failure { failures.append(failure) } }
            return failures
        }
        if failures.isEmpty { return [] }
        // The node may have been deleted meanwhile, or the mark removed.
        return try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, info)
            return try failures.filter { try cloud.isMarked($0.item.node.rawValue, $0.item.section) }
        }
    }

    /// The marked sections that the policy wants.
    ///
    /// Marks of folders for sections that the remote does not have are removed first.
    private func wanted() async throws -> [Wanted] {
        let (info, policy) = (downloads.info, downloads.policy)
        return try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, info)
            if try cloud.removeMarksInVain() { try context.commit() }
            return try cloud.nodesMarkedForDownload().flatMap { node in
                try cloud.markedSections(of: node).elements.filter { policy.wants(node.snapshot, $0) }
                    .map {
                        let version = node.remote?.snapshot.eTag(of: $0, isEncrypted: info.isEncrypted)
                        return Wanted(
                            node: node.id,
                            path: node.path,
                            isFolder: node.isFolder,
                            section: $0,
                            version: version
                        )
                    }
            }
        }
    }

    /// - Returns: nil if the section has arrived, or the remote does not have it.
    private func fetch(_ item: Wanted) async -> Failure? {
        do {
            try await fetchAndTell(item)
            return nil
        } catch is CancellationError {
            // The section stays marked.
            return Failure(item: item, reason: CancellationError())
        } catch let error as HandlerRefusal {
            let text =
                "the handler has thrown for the \(item.section) of node \(item.node.rawValue), which stays marked"
            downloads.stack.log(.warning, "\(text): \(error.reason)")
            return Failure(item: item, reason: error.reason)
        } catch {
            downloads.stack.log(.info, "\(item.section) of node \(item.node.rawValue) stays marked: \(error)")
            return Failure(item: item, reason: error)
        }
    }

    private func fetchAndTell(_ item: Wanted) async throws {
        let handler = handler
        do {
            if item.section == .header {
                let header = try await downloads.header(of: item.node)
                return try await finish(item, header.eTag) { node, cloud in
                    try handler.didDownload(header, of: node, in: cloud)
                }
            }
            let file = try await downloads.fetch(item.node, item.section, options: DownloadOptions(cache: true))
            defer { file.release() }
            try await finish(item, file.eTag) { node, cloud in
                try handler.didDownload(file, item.section, of: node, in: cloud)
            }
        } catch let error as RemoteError
            where error.code == .notFound && (item.section != .data || item.isFolder)
        {
            guard try await forget(item) else { throw error }
        }
    }

    /// Removes a mark and notifies the handler, in one commit.
    private func finish(
        _ item: Wanted,
        _ version: ETag?,
        _ tell: @escaping @Sendable (CloudNode, CloudContext) throws -> Void
    ) async throws {
        let info = downloads.info
        try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, info)
            guard let node = try context.find(item.node) else { return }
            do { try tell(node, cloud) } catch { throw HandlerRefusal(reason: error) }
            try cloud.unmarkNeedsDownload(node, item.section, ifETagMatches: version)
            try context.commit()
        }
    }

    /// Removes the mark of a section that the remote does not have, until the application marks another version.
    ///
    /// - Returns: false for the data section of a folder that is known to have content. Another client may have moved
    ///   the folder, which a pull finds.
    private func forget(_ item: Wanted) async throws -> Bool {
        let info = downloads.info
        return try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, info)
            guard let node = try context.find(item.node) else { return true }
            if item.section == .data, cloud.mayDownload(.data, of: node) { return false }
            let version = node.remote?.snapshot.eTag(of: item.section, isEncrypted: info.isEncrypted)
            guard version == item.version else { return true }
            try cloud.unmarkNeedsDownload(node, item.section)
            try context.commit()
            return true
        }
    }
}

extension CloudError {
    /// The maximum number of failures that the message names.
    private static let named = 5

    fileprivate static func failed(_ failures: [MarkedDownloads.Failure]) -> CloudError {
        let reasons = failures.prefix(named).map { "\($0.item.section) of \($0.item.path): \($0.reason)" }
        let rest = failures.count > named ? ["and \(failures.count - named) more"] : []
        var seen: Set<Int64> = []
        return CloudError(
            .downloadsFailed,
            "Some marked sections have not arrived and stay marked: \((reasons + rest).joined(separator: "; ")). "
                + "Remove the cause, then call `downloadMarked()`.",
            nodes: failures.map(\.item.node.rawValue).filter { seen.insert($0).inserted },
            underlying: failures[0].reason
        )
    }

    static var closedAccount: CloudError { CloudError(.closed, "The account is closed. Open it again.") }
}

/// An error of the application's handler. It does not concern the remote.
private struct HandlerRefusal: Error {
    let reason: any Error
}
