import Strata
import StrataPipeline
import Synchronization

/// Finds the changes of other machines at the remote and applies them to the local tree.
///
/// A pull compares the remote with the state that was known when the pull began. It reads listings, or, if the remote
/// has a change feed, the changes since the last pull. Objects that this machine is changing at the same time are left
/// to the next pull, so that own uploads are not mistaken for changes by other machines. An interrupted pull has
/// applied some of its commits; the next pull finds the rest.
struct Puller: Sendable {
    let stack: ContextStack
    let info: AccountInfo
    let remote: any Remote
    let handler: any CloudHandler
    private let queue = BlockQueue(label: "strata.pull")

    init(stack: ContextStack, info: AccountInfo, remote: any Remote, handler: any CloudHandler) {
        (self.stack, self.info, self.remote, self.handler) = (stack, info, remote, handler)
    }

    /// - Parameter limit: how many files the pull may remove; nil for any number.
    func pull(limit: RemovalLimit?) async throws -> PullSummary {
        let info = info
        let (known, position) = try await stack.overStore { context in
            let account = info.account
            let record = try context.first(.account(account))
            return (LastSyncedTree(try context.rows(RemoteNode.where { $0.account == account })), record?.feedPosition)
        }
        // The known state is read before the remote, so that the remote's state is never the older one.
        let capabilities = try await remote.capabilities()
        let feed = try await capabilities.hasChangeFeed ? RemoteFeed.read(remote, since: position) : nil
        var tree =
            if let feed { try await RemoteTree.find(in: remote, known, feed) } else {
                try await RemoteTree.find(in: remote) { known.has($0) }
            }
        try Task.checkCancellation()
        if !tree.unreadable.isEmpty { handler.didIgnore(tree.unreadable.map(\.path).sorted()) }
        var plan = PullPlan(tree, known)
        let check = AbsenceCheck(remote: remote, known: known, hasFolders: capabilities.hasFolders)
        try await plan.confirm(by: check, &tree, limit: limit)
        // Steps that delete rows rely on the next pull finding the objects again. If this pull is interrupted after
        // such a step, the feed would not report them. So the position is cleared first, and the next pull then
        // requests everything.
        let isDoubtful = feed != nil && plan.forgets
        if isDoubtful { try await storePosition(after: position, PullRest()) { _ in nil } }
        let start = isDoubtful ? nil : position
        let steps = plan.steps
        var (summary, left) = (PullSummary(), PullRest(keys: plan.left))
        (summary.unlisted, summary.deferred) = (plan.unlisted, plan.deferred)
        var first = 0
        while first < steps.count {
            try Task.checkCancellation()
            let part = steps[first..<min(first + Self.portion, steps.count)]
            let done = try await apply(part, known, tree)
            summary.add(done.summary)
            left.add(done.left)
            first += part.count
        }
        if let feed {
            try await storePosition(after: start, left) { FeedPosition.next(feed, from: start, left: $0) }
        }
        return summary
    }

    /// Stores the position from which the next pull continues: the end of the feed, with the keys that this pull has
    /// left. If there are too many keys, the next pull reads the same changes again. If this has not helped, the next
    /// pull requests everything, because the left objects may have changed long ago.
    private func storePosition(
        after position: FeedPosition?,
        _ left: PullRest,
        _ next: @escaping @Sendable (_ left: Set<RemoteKey>) -> FeedPosition?
    ) async throws {
        let info = info
        for _ in 0..<Self.tries {
            do {
                return try await stack.overStore { context in
                    guard let record = try context.first(.account(info.account)) else { return }
                    let left = try left.keys.union(CloudContext(context, info).keys(of: left.rows))
                    let next = next(left)
                    // Another process may have pulled as well. Its position is equally good.
                    let new =
                        record.feedPosition == position
                        ? next : next.flatMap { $0.isRepeated ? nil : record.feedPosition?.leaving(left) }
                    guard record.feedPosition != new else { return }
                    record.feedPosition = new
                    try context.commit()
                }
            } catch let error as StrataError where error.code == .conflict {
                continue
            }
        }
    }

    /// The number of steps in one commit.
    private static let portion = 200

    private func apply(
        _ steps: ArraySlice<PullPlan.Step>,
        _ known: LastSyncedTree,
        _ tree: RemoteTree
    ) async throws -> (summary: PullSummary, left: PullRest) {
        let (info, handler) = (info, handler)
        for _ in 0..<Self.tries {
            do {
                let result = Mutex<(summary: PullSummary, left: PullRest)>((PullSummary(), PullRest()))
                // Each step depends on the queued operations and on the objects known to be at the remote. They must be
                // the same when the step is committed, so the block runs again if another commit has changed them.
                try await stack.commitOverStore(on: queue, author: "pull") { context in
                    let application = PullApplication(
                        CloudContext(context, info),
                        handler: handler,
                        known: known,
                        tree: tree
                    )
                    for step in steps { try application.apply(step) }
                    result.withLock { $0 = (application.summary, application.left) }
                } alongside: { _ in
                }
                return result.withLock { $0 }
            } catch let error as StrataError
                where [.conflict, .notUnique, .deleteDenied, .missingReference].contains(error.code)
            {
                // Another commit has changed the same rows, so the steps are applied again to the new rows.
                continue
            }
        }
        var summary = PullSummary()
        summary.deferred = steps.count
        var left = PullRest()
        for step in steps { left.add(PullRest(keys: step.keys(known, tree), rows: Set([step.row].compactMap(\.self)))) }
        return (summary, left)
    }

    private static let tries = 5
}

extension CloudContext {
    /// The current keys of objects at the remote, with the keys of their sidecars.
    fileprivate func keys(of rows: Set<Int64>) throws -> Set<RemoteKey> {
        var keys: Set<RemoteKey> = []
        for number in rows {
            // A row that has lost its folder has an unknown key.
            guard let row = try remote(number), let key = try? row.key else { continue }
            keys.insert(key)
            for mark in RemoteNode.marks(isFolder: row.isFolder) where row.snapshot.eTag(ofMark: mark) != nil {
                keys.insert(key.sidecar(mark))
            }
        }
        return keys
    }
}

extension PullSummary {
    mutating func add(_ other: PullSummary) {
        new += other.new
        modified += other.modified
        moved += other.moved
        deleted += other.deleted
        displaced += other.displaced
        deferred += other.deferred
        unlisted += other.unlisted
    }
}
