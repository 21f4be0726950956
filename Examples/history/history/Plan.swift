import HistoryKit
import Strata

/// The part of a repository's history to import.
struct Plan {
    let log: GitLog
    let total: Int
    /// A note for the user.
    let note: String?

    /// Returns nil if the store already contains the whole history.
    static func make(for git: Git, stack: ContextStack, policy: MalformedPolicy) async throws -> Plan? {
        guard let head = try await git.head() else { return nil }
        let (stored, last, hasHead) = try await stack.background { context in
            (
                try context.count(Commit.all), try context.first(Commit.newest)?.hash,
                try context.exists(Commit.where { $0.hash == head })
            )
        }
        guard let last else {
            let note =
                try await git.isShallow()
                ? "this is a shallow clone: only the commits that it has are imported, and the oldest of them count as "
                    + "having added every file" : nil
            return try await Plan(
                log: git.log(upTo: head, policy: policy),
                total: git.count(upTo: head),
                note: note
            )
        }
        let all = try await git.count(upTo: head)
        // The store contains all ancestors of a stored commit, unless it was imported from a shallow clone.
        if hasHead, all <= stored { return nil }
        switch try await git.ancestry(of: last, in: head) {
        case .ancestor where try await git.count(upTo: last) <= stored:
            return try await Plan(
                log: git.log(after: last, upTo: head, policy: policy),
                total: git.count(after: last, upTo: head),
                note: "continuing after \(last.prefix(12))"
            )
        case .ancestor:
            return Plan(
                log: git.log(upTo: head, policy: policy),
                total: all,
                note: "the repository has older commits than at the last import: importing the missing commits"
            )
        case .unrelated, .unknown:
            return Plan(
                log: git.log(upTo: head, policy: policy),
                total: all,
                note:
                    "the last imported commit \(last.prefix(12)) is not part of this history (was it rewritten, or is "
                    + "this another branch?): importing the missing commits, and keeping the imported ones"
            )
        }
    }
}
