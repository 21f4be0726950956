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
    }

    private func fetchAll() async throws {
        let (facts, policy) = (downloads.facts, policy)
        let wanted = try await downloads.stack.overStore { context in
            let cloud = CloudContext(context, facts)
            return try cloud.nodesMarkedForDownload().flatMap { node in
                try cloud.markedSections(of: node).elements.filter { policy.wants(node.snapshot, $0) }
                    .map { Wanted(node: node.id, section: $0) }
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
            // What a header says is known by the pull already.
            let file =
                item.section == .header
                ? nil : try await downloads.fetch(item.node, item.section, options: DownloadOptions(cache: true))
            defer { file?.release() }
            let (facts, handler) = (downloads.facts, handler)
            try await downloads.stack.overStore { context in
                let cloud = CloudContext(context, facts)
                guard let node = try context.find(item.node) else { return }
                if let file { try handler.didDownload(file, item.section, of: node, in: cloud) }
                let version = file.map(\.eTag) ?? node.remote?.eTag(of: .header)
                try cloud.unmarkNeedsDownload(node, item.section, ifETagMatches: version)
                try context.commit()
            }
        } catch is CancellationError {
            // It stays marked.
        } catch {
            downloads.stack.log(.info, "\(item.section) of node \(item.node.number) stays marked: \(error)")
        }
    }
}
