import Strata
import StrataPipeline
import Synchronization

/// Downloads what is marked, by itself: when the account is opened, when the network returns, and behind each pull.
///
/// What has arrived is told to the handler in the commit that takes the mark back. What has not stays marked, for the next time.
final class MarkedDownloads: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// Whether something may have been marked since the last look began.
        var isDue = false
        var isStopped = false
    }

    private let downloads: Downloads
    private let handler: any CloudHandler
    private let policy: DownloadPolicy
    private let maxConcurrent: Int
    private let state = Mutex(State())

    init(_ downloads: Downloads, _ handler: any CloudHandler, _ policy: DownloadPolicy, maxConcurrent: Int) {
        (self.downloads, self.handler, self.policy) = (downloads, handler, policy)
        self.maxConcurrent = max(1, maxConcurrent)
    }

    /// Looks at what is marked, now or behind the look that is under way.
    func look() {
        if case .onDemand = policy { return }
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isDue = true
            guard state.task == nil else { return }
            state.task = Task { await self.run() }
        }
    }

    /// Waits for the looks that are under way.
    func settle() async { while let task = state.withLock({ $0.task }) { await task.value } }

    func stop() async {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    private func run() async {
        while state.withLock({ state in
            defer { state.isDue = false }
            if !state.isDue { state.task = nil }
            return state.isDue
        }) {
            do { try await fetchAll() } catch {
                downloads.stack.log(.warning, "marked nodes cannot be looked at: \(error)")
            }
            if Task.isCancelled { return }
        }
    }

    private struct Wanted: Sendable {
        let node: ObjectID<CloudNode>
        let section: ContentSections
        /// The version that was known when it was looked for.
        let version: ETag?
    }

    private func fetchAll() async throws {
        let (facts, policy) = (downloads.facts, policy)
        let wanted = try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, facts)
            return try cloud.nodesMarkedForDownload().flatMap { node in
                try cloud.markedSections(of: node).elements.filter { policy.wants(node.snapshot, $0) }
                    .map {
                        let version = node.remote?.snapshot.eTag(of: $0, isSealed: facts.isSealed)
                        return Wanted(node: node.id, section: $0, version: version)
                    }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for (index, item) in wanted.enumerated() {
                if index >= maxConcurrent { await group.next() }
                group.addTask { await self.fetch(item) }
            }
        }
    }

    private func fetch(_ item: Wanted) async {
        do {
            let handler = handler
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
        } catch is CancellationError {
            // It stays marked.
        } catch let error as RemoteError where error.code == .notFound && item.section != .data {
            await forget(item)
        } catch {
            downloads.stack.log(.info, "\(item.section) of node \(item.node.number) stays marked: \(error)")
        }
    }

    /// Takes a mark back, and tells of what it was for, in one commit.
    private func finish(
        _ item: Wanted,
        _ version: ETag?,
        _ tell: @escaping @Sendable (CloudNode, CloudContext) throws -> Void
    ) async throws {
        let facts = downloads.facts
        try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, facts)
            guard let node = try context.find(item.node) else { return }
            try tell(node, cloud)
            try cloud.unmarkNeedsDownload(node, item.section, ifETagMatches: version)
            try context.commit()
        }
    }

    /// Takes back the mark of what goes with content, and is not there: there is nothing to download, as long as nobody marks another version.
    private func forget(_ item: Wanted) async {
        let facts = downloads.facts
        do {
            try await downloads.stack.overStore { context in
                let cloud = CloudContext(context, facts)
                guard let node = try context.find(item.node) else { return }
                let version = node.remote?.snapshot.eTag(of: item.section, isSealed: facts.isSealed)
                guard version == item.version else { return }
                try cloud.unmarkNeedsDownload(node, item.section)
                try context.commit()
            }
        } catch {
            downloads.stack.log(.info, "\(item.section) of node \(item.node.number) stays marked: \(error)")
        }
    }
}
