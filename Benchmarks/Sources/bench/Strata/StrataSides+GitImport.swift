import Strata

extension StrataSides {
    static func gitImport(_ round: Round) async throws -> Sample {
        let stack = try await stack(round)
        let history = round.values.history
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            var authors: [String: GitAuthor] = [:]
            var paths: [String: GitPath] = [:]
            for start in stride(from: 0, to: history.commits.count, by: GitHistory.batch) {
                for record in history.commits[start..<min(start + GitHistory.batch, history.commits.count)] {
                    let author =
                        authors[record.email]
                        ?? context.insert(GitAuthor(name: record.author, email: record.email))
                    authors[record.email] = author
                    let revision = context.insert(
                        GitRevision(hash: record.hash, time: record.time, message: record.message, author: author)
                    )
                    for change in record.changes {
                        let path = paths[change.path] ?? context.insert(GitPath(name: change.path))
                        paths[change.path] = path
                        context.insert(
                            GitChange(added: change.added, removed: change.removed, revision: revision, path: path)
                        )
                    }
                }
                try context.commit()
            }
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await historyCheck(round))
    }

    private static func historyCheck(_ round: Round) async throws -> Checksum {
        let stack = try await stack(round)
        let check = try await stack.background { context in
            var check = Checksum()
            for change in try context.fetch(GitChange.all) {
                guard let revision = change.revision, let author = revision.author, let path = change.path else {
                    throw BenchError("a change has lost its revision, author or path")
                }
                check.add(
                    RowHash(
                        commit: revision.hash,
                        email: author.email,
                        time: revision.time,
                        message: revision.message,
                        path: path.name,
                        added: change.added,
                        removed: change.removed
                    )
                )
            }
            return check
        }
        try await stack.close()
        return check
    }
}
