import Strata
import StrataPipeline
import Synchronization

/// Finds the changes of other machines at the remote and applies them to the local tree.
///
/// A pull compares the remote's listings with the state that was known when the pull began. Objects that this machine
/// is changing at the same time are left to the next pull, so that own uploads are not mistaken for changes by other
/// machines. An interrupted pull has applied some of its commits; the next pull finds the rest.
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
        let account = info.account
        // The known state is read before the remote, so that the remote's state is never the older one.
        let known = try await stack.overStore { context in
            LastSyncedTree(try context.rows(RemoteNode.where { $0.account == account }))
        }
        let capabilities = try await remote.capabilities()
        var tree = try await RemoteTree.find(in: remote) { known.has($0) }
        try Task.checkCancellation()
        if !tree.unreadable.isEmpty { handler.didIgnore(tree.unreadable.map(\.path).sorted()) }
        var plan = PullPlan(tree, known)
        let check = AbsenceCheck(remote: remote, known: known, hasFolders: capabilities.hasFolders)
        try await plan.confirm(by: check, &tree, limit: limit)
        let steps = plan.steps
        var summary = PullSummary()
        (summary.unlisted, summary.deferred) = (plan.unlisted, plan.deferred)
        var first = 0
        while first < steps.count {
            try Task.checkCancellation()
            let part = steps[first..<min(first + Self.chunkSize, steps.count)]
            summary.add(try await apply(part, known, tree))
            first += part.count
        }
        return summary
    }

    /// The number of steps in one commit.
    private static let chunkSize = 200

    private func apply(
        _ steps: ArraySlice<PullPlan.Step>,
        _ known: LastSyncedTree,
        _ tree: RemoteTree
    ) async throws -> PullSummary {
        let (info, handler) = (info, handler)
        for _ in 0..<Self.tries {
            do {
                let result = Mutex(PullSummary())
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
                    result.withLock { $0 = application.summary }
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
        return summary
    }

    private static let tries = 5
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
