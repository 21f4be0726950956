import HistoryKit
import TestRepositories

extension GitLog {
    /// All commits of the log. A malformed record causes an error with either policy.
    func commits() async throws -> [GitCommit] {
        var commits: [GitCommit] = []
        for try await event in self {
            switch event {
            case .commit(let commit): commits.append(commit)
            case .malformed(let record): throw record
            }
        }
        return commits
    }
}

extension TestRepository {
    func commits(after commit: String? = nil) async throws -> [GitCommit] {
        let head = try await git.head()
        guard let head else { return [] }
        return try await git.log(after: commit, upTo: head, policy: .refuse).commits()
    }
}
