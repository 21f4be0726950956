import Strata
import StrataPipeline

/// Finds what others have changed at the remote, and brings it here.
///
/// What lies there is compared with what was known when the pull began: by listings, or, of a remote with a feed, by what has changed since the
/// last pull. What is being changed from here at the same time is left to the next pull, so that nobody's own uploads are taken for
/// somebody else's. A pull that is broken off has applied some commits; the next one finds the rest.
struct Puller: Sendable {
    let stack: ContextStack
    let facts: AccountFacts
    let remote: any Remote
    let handler: any CloudHandler

    func pull() async throws -> PullSummary {
        let facts = facts
        let (known, position) = try await stack.overStore { context in
            let account = facts.account
            let record = try context.first(AccountRecord.where { $0.account == account })
            return (KnownTree(try context.rows(RemoteNode.where { $0.account == account })), record?.feedPosition)
        }
        // What was known is asked for before what is there, so that this is never the older one.
        let feed =
            try await remote.capabilities().hasChangeFeed
            ? RemoteFeed.read(remote, since: position?.cursor) : nil
        let tree =
            if let feed { try await RemoteTree.find(in: remote, known, feed) } else {
                try await RemoteTree.find(in: remote) { known.has($0) }
            }
        try Task.checkCancellation()
        let plan = PullPlan(tree, known)
        let steps = plan.steps
        var summary = PullSummary()
        var first = 0
        while first < steps.count {
            try Task.checkCancellation()
            let part = steps[first..<min(first + Self.portion, steps.count)]
            let done = try await apply(part, known, tree)
            summary.add(done)
            first += part.count
        }
        if let feed {
            let isClean = summary.postponed == 0 && !plan.leavesOut
            try await note(feed, from: position, isClean: isClean, forgets: plan.forgets)
        }
        return summary
    }

    /// Writes down from where the next pull goes on. Where something was left to it, it asks for the same once more; where that has not helped, for
    /// everything, since what was left may have changed long ago.
    private func note(
        _ feed: RemoteFeed,
        from position: FeedPosition?,
        isClean: Bool,
        forgets: Bool
    ) async throws {
        let next: FeedPosition? =
            if isClean {
                FeedPosition(cursor: feed.cursor)
            } else if feed.isWhole || forgets || position?.isRepeated ?? true {
                nil
            } else { position.map { FeedPosition(cursor: $0.cursor, isRepeated: true) } }
        guard next != position else { return }
        let facts = facts
        do {
            try await stack.overStore { context in
                let account = facts.account
                try context.first(AccountRecord.where { $0.account == account })?.feedPosition = next
                try context.commit()
            }
        } catch let error as StrataError where error.code == .conflict {
            // Another process has pulled as well. From where that goes on is as good.
        }
    }

    /// How many steps are one commit.
    private static let portion = 200

    private func apply(
        _ steps: ArraySlice<PullPlan.Step>,
        _ known: KnownTree,
        _ tree: RemoteTree
    ) async throws -> PullSummary {
        let (facts, handler) = (facts, handler)
        for _ in 0..<Self.tries {
            do {
                return try await stack.overStore { context in
                    let application = PullApplication(CloudContext(context, facts), handler, known, tree)
                    for step in steps { try application.apply(step) }
                    try context.commit()
                    return application.summary
                }
            } catch let error as StrataError where error.code == .conflict || error.code == .notUnique {
                // Somebody has changed the same meanwhile: it is looked at once more.
                continue
            }
        }
        var summary = PullSummary()
        summary.postponed = steps.count
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
        renamed += other.renamed
        postponed += other.postponed
    }
}
