import Strata
import StrataPipeline

/// Combines the queued operations and marks of the store with the running transfers.
///
/// A reader that reads repeatedly receives the changes of commits, and reads only the changed rows.
struct ProgressReading: Sendable {
    let source: ProgressSource
    let scope: ProgressScope
    private let reader: TransferTracker.Reader
    /// The changes since the backlog was read; nil for a single reading.
    private let news: ProgressNews?
    private var backlog: ProgressBacklog?
    private var uploads = Passed()
    private var downloads = Passed()

    /// The transfers of one direction.
    private struct Passed: Sendable {
        var entries: [TransferTracker.Key: TransferTracker.Entry] = [:]
        /// The completed transfers in the scope.
        var done = TransferTracker.Done()
        /// The completed transfers of nodes that may or may not be in the scope.
        var unsorted: [Int64: TransferTracker.Done] = [:]

        mutating func add(_ moment: TransferTracker.Moment) {
            entries = moment.entries
            unsorted.merge(moment.done) { $0 + $1 }
        }

        mutating func sort(_ isWanted: (Int64) -> Bool?) {
            for (node, passed) in unsorted {
                guard let isWanted = isWanted(node) else { continue }
                if isWanted { done = done + passed }
                unsorted[node] = nil
            }
        }
    }

    /// Creates a reader for a single reading.
    init(_ source: ProgressSource, _ scope: ProgressScope) {
        (self.source, self.scope, reader, news) = (source, scope, .once(scope), nil)
    }

    /// Creates a reader for repeated readings by a registered watcher.
    init(_ source: ProgressSource, _ scope: ProgressScope, watcher: Int?, ring: @escaping @Sendable () -> Void) {
        (self.source, self.scope) = (source, scope)
        reader = watcher.map { .watcher($0) } ?? .once(scope)
        news = ProgressNews(source.stack, ring: ring)
    }

    /// Counts completed transfers from zero.
    mutating func beginAnew() { (uploads.done, downloads.done) = (TransferTracker.Done(), TransferTracker.Done()) }

    /// - Complexity: O(changes since the last reading), multiplied by the depth for a folder. For the first reading,
    ///   and if the changes are unknown, O(queued operations + marks).
    mutating func read() async throws -> CloudProgress {
        let tracker = source.tracker
        // Uploads are read before the store and downloads after it, so that no transfer counts as done and left at
        // once.
        uploads.add(tracker.moment(.upload, for: reader))
        let passed = tracker.passedDownloads
        let before = tracker.window
        let (backlog, answers) = try await lookAtStore(
            Set(uploads.entries.values.map(\.node)).union(uploads.unsorted.keys).union(downloads.unsorted.keys)
                .union(passed.map(\.number)).union(tracker.downloadingNodes).union(before.nodes)
        )
        let isWanted = { [scope] (node: Int64) -> Bool? in
            switch scope {
            case .account: true
            case .node(let number): node == number
            case .below: answers[node]
            }
        }
        tracker.complete(
            downloads: passed.filter {
                isWanted($0.number) ?? false && !backlog.share(of: $0.number).marked.contains($0.section)
            }
        )
        // An upload whose bytes have all passed and whose operation is not in the store any more is done, even if its
        // event has not arrived yet.
        let ended = uploads.entries.filter { _, entry in
            entry.hasPassed && isWanted(entry.node) ?? false && !backlog.share(of: entry.node).isQueued
        }
        for (key, done) in tracker.complete(uploads: ended, for: reader) {
            uploads.entries[key] = nil
            uploads.done = uploads.done + done
        }
        downloads.add(tracker.moment(.download, for: reader))
        uploads.sort(isWanted)
        downloads.sort(isWanted)
        var progress = CloudProgress()
        (progress.operationsLeft, progress.operationsFailed) = (backlog.operations, backlog.failed)
        let isCounted = { (node: Int64) in isWanted(node) ?? false }
        progress.uploads = uploads(backlog, isCounted)
        progress.downloads = downloads(backlog, isCounted)
        progress.uploads.throughput = before.throughput(.upload, at: tracker.clock.now, isCounted)
        progress.downloads.throughput = before.throughput(.download, at: tracker.clock.now, isCounted)
        return progress
    }

    private func uploads(_ backlog: ProgressBacklog, _ isCounted: (Int64) -> Bool) -> TransferProgress {
        var (left, bytes) = (backlog.queued, Int64(0))
        var running: [Int64: [TransferTracker.Entry]] = [:]
        for entry in uploads.entries.values where isCounted(entry.node) {
            running[entry.node, default: []].append(entry)
        }
        for (node, entries) in running {
            let share = backlog.share(of: node)
            if share.isQueued { left.add(share.queuedSize, times: -1) }
            let sizes = entries.compactMap(\.size)
            left.add(sizes.count == entries.count ? sizes.reduce(0, +) : nil)
            bytes += entries.reduce(0) { $0 + $1.done }
        }
        return TransferProgress(uploads.done, left, bytes)
    }

    private func downloads(_ backlog: ProgressBacklog, _ isCounted: (Int64) -> Bool) -> TransferProgress {
        var left = backlog.marked
        var bytes: Int64 = 0
        for (key, entry) in downloads.entries where isCounted(entry.node) {
            let share = backlog.share(of: entry.node)
            if share.marked.contains(key.section) { left.add(share.size(of: key.section), times: -1) }
            left.add(entry.size)
            bytes += entry.done
        }
        return TransferProgress(downloads.done, left, bytes)
    }

    // MARK: The store

    /// - Parameter asked: nodes to test for membership in the scope's folder.
    private mutating func lookAtStore(_ asked: Set<Int64>) async throws -> (ProgressBacklog, [Int64: Bool]) {
        let (info, scope, policy) = (source.info, scope, source.policy)
        let changes = news?.drainChanges()
        // If this reading fails, the next one reads everything.
        var known = backlog
        backlog = nil
        var isWhole = changes?.isUnknown ?? true
        if case .below = scope, changes?.hasMoves ?? true { isWhole = true }
        let doubt = isWhole ? nil : changes.flatMap { known?.doubt($0) }
        let (whole, readings, answers) = try await source.stack.overStore { context in
            let cloud = CloudContext(context, info)
            var nodes = ProgressNodes(scope, cloud)
            var (whole, readings) = (ProgressBacklog?.none, [Int64: ProgressBacklog.Reading]())
            if let doubt {
                readings = try ProgressBacklog.read(doubt, cloud, &nodes, policy)
            } else {
                whole = try ProgressBacklog.read(scope, cloud, &nodes, policy)
            }
            if case .below = scope { for node in asked { _ = try nodes.contains(node) } }
            return (whole, readings, nodes.answers)
        }
        var news = whole ?? known ?? ProgressBacklog()
        known = nil
        for (node, reading) in readings { news.set(reading, of: node) }
        backlog = news
        return (news, answers)
    }
}

/// The sources of a progress.
struct ProgressSource: Sendable {
    let stack: ContextStack
    let info: AccountInfo
    let tracker: TransferTracker
    let policy: DownloadPolicy
}

extension TransferProgress {
    /// - Parameter bytes: the transferred bytes of the files that are left.
    fileprivate init(_ done: TransferTracker.Done, _ left: ProgressBacklog.Files, _ bytes: Int64) {
        (filesDone, filesLeft) = (done.files, left.count)
        bytesDone = done.bytes + bytes
        bytesTotal = left.unsized == 0 ? done.bytes + left.bytes : nil
    }
}
