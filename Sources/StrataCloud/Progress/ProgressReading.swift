import Strata
import StrataPipeline

/// Puts together what is queued and marked in the store, and what is being transferred.
struct ProgressReading: Sendable {
    let stack: ContextStack
    let facts: AccountFacts
    let book: TransferBook

    /// What is left by the store, and which nodes are concerned.
    private struct Left: Sendable {
        /// The operations that send content, and what they say of its size, by their nodes.
        var uploads: [Int64: [Int64: Int64?]] = [:]
        /// What is marked, with its size.
        var downloads: [TransferBook.Key: Int64?] = [:]
        var operations = 0
        var failed = 0
        /// The nodes of the scope, of those that matter; nil for all.
        var nodes: Set<Int64>?

        func contains(_ node: Int64) -> Bool { nodes?.contains(node) ?? true }
    }

    /// - Complexity: O(what is queued and marked), with its depth for a folder; for a node O(its own).
    func read(_ scope: ProgressScope) async throws -> CloudProgress {
        let before = book.snapshot
        let left = try await left(scope, known: before)
        // What has passed, and is in the store no more, is done, whether its end was told of yet or not.
        book.settle(
            before.entries.filter { key, entry in
                guard entry.hasPassed, left.contains(entry.node) else { return false }
                return switch key.direction {
                case .upload: left.uploads[entry.node]?[key.number] == nil
                case .download: left.downloads[key] == nil
                }
            }.map(\.key)
        )
        let now = book.snapshot
        var progress = CloudProgress()
        (progress.operationsLeft, progress.operationsFailed) = (left.operations, left.failed)
        progress.uploads = uploads(left, now)
        progress.downloads = downloads(left, now)
        return progress
    }

    private func uploads(_ left: Left, _ now: TransferBook.State) -> TransferProgress {
        var progress = done(.upload, left, now)
        var running: [Int64: [TransferBook.Entry]] = [:]
        for (key, entry) in now.entries where key.direction == .upload && left.contains(entry.node) {
            running[entry.node, default: []].append(entry)
        }
        for node in Set(left.uploads.keys).union(running.keys) {
            let hint = left.uploads[node].flatMap { $0.max { $0.key < $1.key } }?.value
            progress.add(running[node] ?? [], size: hint)
        }
        return progress
    }

    private func downloads(_ left: Left, _ now: TransferBook.State) -> TransferProgress {
        var progress = done(.download, left, now)
        var running: [TransferBook.Key: TransferBook.Entry] = [:]
        for (key, entry) in now.entries where key.direction == .download && left.contains(entry.node) {
            running[key] = entry
        }
        for key in Set(left.downloads.keys).union(running.keys) {
            progress.add(running[key].map { [$0] } ?? [], size: left.downloads[key] ?? nil)
        }
        return progress
    }

    private func done(
        _ direction: TransferDirection,
        _ left: Left,
        _ now: TransferBook.State
    ) -> TransferProgress {
        var progress = TransferProgress()
        for (source, done) in now.done where source.direction == direction && left.contains(source.node) {
            progress.filesDone += done.files
            progress.bytesDone += done.bytes
        }
        (progress.bytesTotal, progress.settledBytes) = (progress.bytesDone, progress.bytesDone)
        progress.throughput = now.window.throughput(direction, at: book.clock.now, left.contains)
        return progress
    }

    // MARK: The store

    private func left(_ scope: ProgressScope, known: TransferBook.State) async throws -> Left {
        let (facts, seen) = (facts, Set(known.entries.values.map(\.node)).union(known.done.keys.map(\.node)))
        return try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            var nodes = ProgressNodes(scope, cloud)
            var left = Left()
            for operation in try context.rows(scope.operations(facts)) {
                guard let node = Int64(operation.lane), try nodes.contains(node) else { continue }
                left.operations += 1
                if operation.status == .failed { left.failed += 1 }
                let work = try CloudWork.decoded(operation.payload, version: operation.payloadVersion)
                guard work.kind == .content else { continue }
                left.uploads[node, default: [:]][operation.id.number] = .some(work.size)
            }
            for mark in try context.fetch(scope.marks(facts)) {
                guard let node = mark.node, let section = mark.transferred, try nodes.contains(node.id.number) else {
                    continue
                }
                let key = TransferBook.Key(direction: .download, number: node.id.number, section: section)
                left.downloads[key] = .some(section == .data ? node.remote?.size : nil)
            }
            for node in seen { _ = try nodes.contains(node) }
            left.nodes = nodes.known
            return left
        }
    }
}

extension TransferProgress {
    /// Counts a file that is left.
    ///
    /// - Parameter size: what is said of its size, where nothing is on its way.
    fileprivate mutating func add(_ entries: [TransferBook.Entry], size: Int64?) {
        filesLeft += 1
        bytesDone += entries.reduce(0) { $0 + $1.done }
        let known: Int64? =
            entries.isEmpty
            ? size : entries.reduce(0 as Int64?) { sum, entry in sum.flatMap { sum in entry.size.map { sum + $0 } } }
        bytesTotal = bytesTotal.flatMap { total in known.map { total + $0 } }
    }
}

/// Tells which nodes lie in a scope, and remembers it.
private struct ProgressNodes {
    private let scope: ProgressScope
    private let cloud: CloudContext
    private var answers: [Int64: Bool] = [:]

    init(_ scope: ProgressScope, _ cloud: CloudContext) { (self.scope, self.cloud) = (scope, cloud) }

    /// Those that were asked for and lie in it; nil where all do.
    var known: Set<Int64>? {
        switch scope {
        case .account: nil
        case .node(let node): [node]
        case .below: Set(answers.filter(\.value).keys)
        }
    }

    mutating func contains(_ number: Int64) throws -> Bool {
        switch scope {
        case .account: return true
        case .node(let node): return number == node
        case .below(let folder):
            if let answer = answers[number] { return answer }
            var way = [number]
            var answer = false
            var next = try cloud.context.find(cloud.nodeID(number))
            while let node = next {
                if node.id.number == folder {
                    answer = true
                    break
                }
                if node.id.number != number { way.append(node.id.number) }
                next = node.parent
                if let known = next.flatMap({ answers[$0.id.number] }) {
                    answer = known
                    break
                }
            }
            for number in way { answers[number] = answer }
            return answer
        }
    }
}

extension ProgressScope {
    fileprivate func operations(_ facts: AccountFacts) -> Query<QueuedOperation> {
        let pipeline = facts.pipeline
        guard case .node(let node) = self else { return QueuedOperation.where { $0.pipeline == pipeline } }
        let lane = String(node)
        return QueuedOperation.where { $0.pipeline == pipeline && $0.lane == lane }
    }

    fileprivate func marks(_ facts: AccountFacts) throws -> Query<DownloadMark> {
        let account = facts.account
        guard case .node(let number) = self, let home = facts.trunks[.home] else {
            return DownloadMark.where { $0.node.account == account }
        }
        let node = home.sibling(number)
        return DownloadMark.where { $0.node == node }
    }
}

extension DownloadMark {
    /// The section, where its bytes are transferred.
    fileprivate var transferred: ContentSections? {
        let section = ContentSections(rawValue: self.section)
        return section == .header ? nil : section
    }
}
