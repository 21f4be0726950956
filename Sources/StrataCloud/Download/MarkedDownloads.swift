import Strata
import StrataPipeline

/// Downloads what is marked, by itself: when the account is opened, when something was marked, when the network returns, and behind each pull.
///
/// What has arrived is told to the handler in the commit that takes the mark back. What has not stays marked, for the next time.
final class MarkedDownloads: Sendable {
    private let downloads: Downloads
    private let handler: any CloudHandler
    private let policy: DownloadPolicy
    private let maxConcurrent: Int
    private let looks = RepeatedTask()
    /// How many come at once where any number may.
    private static let most = 8

    init(_ downloads: Downloads, _ handler: any CloudHandler, _ options: CloudOptions) {
        (self.downloads, self.handler, policy) = (downloads, handler, options.download)
        maxConcurrent = max(1, options.maxConcurrent ?? Self.most)
    }

    /// Looks at what is marked, now or behind the look that is under way.
    func look() {
        if case .onDemand = policy { return }
        looks.ask {
            do { try await self.fetchAll() } catch {
                self.downloads.stack.log(.warning, "marked nodes cannot be looked at: \(error)")
            }
        }
    }

    /// Notes commits, which may have marked something.
    func note(_ news: [ChangeSet]?) {
        let isDue = news?.contains { $0.contains(DownloadMark.self) && !$0.of(DownloadMark.self).inserted.isEmpty }
        if isDue ?? true { look() }
    }

    /// Waits for the looks that are under way.
    func settle() async { await looks.settle() }

    func stop() async { await looks.stop() }

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
        } catch let error as HandlerRefusal {
            let text = "the handler has thrown for the \(item.section) of node \(item.node.number), which stays marked"
            downloads.stack.log(.warning, "\(text): \(error.reason)")
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
            do { try tell(node, cloud) } catch { throw HandlerRefusal(reason: error) }
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

/// What the application's handler has thrown, whatever it is: that says nothing about the remote.
private struct HandlerRefusal: Error {
    let reason: any Error
}
