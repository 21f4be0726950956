import Strata
import StrataPipeline

/// Puts together what is queued and marked in the store, and what is being transferred.
///
/// Who reads again and again is told by commits what has changed in the store, and looks at nothing else.
struct ProgressReading: Sendable {
    let source: ProgressSource
    let scope: ProgressScope
    private let reader: TransferBook.Reader
    /// What has changed since the backlog was read; nil for who reads once.
    private let news: ProgressNews?
    private var backlog: ProgressBacklog?
    private var uploads = Passed()
    private var downloads = Passed()

    /// What has passed of one direction.
    private struct Passed: Sendable {
        var entries: [TransferBook.Key: TransferBook.Entry] = [:]
        /// What is done.
        var done = TransferBook.Done()
        /// What is done of nodes of which it is not known yet whether they are in the scope.
        var unsorted: [Int64: TransferBook.Done] = [:]

        mutating func note(_ moment: TransferBook.Moment) {
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

    /// For one reading.
    init(_ source: ProgressSource, _ scope: ProgressScope) {
        (self.source, self.scope, reader, news) = (source, scope, .once(scope), nil)
    }

    /// For many, by one who watches the book.
    init(_ source: ProgressSource, _ scope: ProgressScope, watcher: Int?, ring: @escaping @Sendable () -> Void) {
        (self.source, self.scope) = (source, scope)
        reader = watcher.map { .watcher($0) } ?? .once(scope)
        news = ProgressNews(source.stack, ring: ring)
    }

    /// From now on only that counts as done which is done from now on.
    mutating func beginAnew() { (uploads.done, downloads.done) = (TransferBook.Done(), TransferBook.Done()) }

    /// - Complexity: O(what has changed since the last time), with its depth for a folder. The first time, and where it is not known what has changed,
    ///   O(what is queued and marked).
    mutating func read() async throws -> CloudProgress {
        let book = source.book
        // What is sent counts as before the look at the store, and what comes here as behind it: nothing is done and left at once.
        uploads.note(book.moment(.upload, for: reader))
        let passed = book.passedDownloads
        let before = book.window
        let (backlog, answers) = try await lookAtStore(
            Set(uploads.entries.values.map(\.node)).union(uploads.unsorted.keys).union(downloads.unsorted.keys)
                .union(passed.map(\.number)).union(book.downloadingNodes).union(before.nodes)
        )
        let isWanted = { [scope] (node: Int64) -> Bool? in
            switch scope {
            case .account: true
            case .node(let number): node == number
            case .below: answers[node]
            }
        }
        book.settle(
            downloads: passed.filter {
                isWanted($0.number) ?? false && !backlog.share(of: $0.number).marked.contains($0.section)
            }
        )
        // What has passed, and whose operation is in the store no more, is done, though its end may not be told of yet.
        let ended = uploads.entries.filter { _, entry in
            entry.hasPassed && isWanted(entry.node) ?? false && !backlog.share(of: entry.node).isQueued
        }
        for (key, done) in book.settle(uploads: ended, for: reader) {
            uploads.entries[key] = nil
            uploads.done = uploads.done + done
        }
        downloads.note(book.moment(.download, for: reader))
        uploads.sort(isWanted)
        downloads.sort(isWanted)
        var progress = CloudProgress()
        (progress.operationsLeft, progress.operationsFailed) = (backlog.operations, backlog.failed)
        let isCounted = { (node: Int64) in isWanted(node) ?? false }
        progress.uploads = uploads(backlog, isCounted)
        progress.downloads = downloads(backlog, isCounted)
        progress.uploads.throughput = before.throughput(.upload, at: book.clock.now, isCounted)
        progress.downloads.throughput = before.throughput(.download, at: book.clock.now, isCounted)
        return progress
    }

    private func uploads(_ backlog: ProgressBacklog, _ isCounted: (Int64) -> Bool) -> TransferProgress {
        var (left, bytes) = (backlog.queued, Int64(0))
        var running: [Int64: [TransferBook.Entry]] = [:]
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

    /// - Parameter asked: nodes of which it is asked whether they lie in the folder that this is of.
    private mutating func lookAtStore(_ asked: Set<Int64>) async throws -> (ProgressBacklog, [Int64: Bool]) {
        let (facts, scope, policy) = (source.facts, scope, source.policy)
        let changes = news?.take()
        // Where this fails it is read anew.
        var known = backlog
        backlog = nil
        var isWhole = changes?.isUnknown ?? true
        if case .below = scope, changes?.hasMoves ?? true { isWhole = true }
        let doubt = isWhole ? nil : changes.flatMap { known?.doubt($0) }
        let (whole, readings, answers) = try await source.stack.overStore { context in
            let cloud = CloudContext(context, facts)
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

/// Where progress is read from.
struct ProgressSource: Sendable {
    let stack: ContextStack
    let facts: AccountFacts
    let book: TransferBook
    let policy: DownloadPolicy
}

extension TransferProgress {
    /// - Parameter bytes: how many have passed of what is left.
    fileprivate init(_ done: TransferBook.Done, _ left: ProgressBacklog.Files, _ bytes: Int64) {
        (filesDone, filesLeft) = (done.files, left.count)
        bytesDone = done.bytes + bytes
        bytesTotal = left.unsized == 0 ? done.bytes + left.bytes : nil
    }
}
