/// A git history as a parser of `git log --numstat` would hand it over: synthetic and the same in every run.
struct GitHistory: Sendable {
    struct Commit: Sendable {
        let hash: String
        let author: String
        let email: String
        let time: Int
        let message: String
        let changes: [Change]
    }

    struct Change: Sendable {
        let path: String
        let added: Int
        let removed: Int
    }

    /// How many commits of the history an importer puts into one commit of the store.
    static let batch = 1_000

    let commits: [Commit]

    init(commits count: Int, changes: Int, _ random: inout SplitMix64) {
        let authors = max(1, count / 100)
        let paths = max(1, count / 4)
        let perCommit = changes / count
        var list: [Commit] = []
        for number in 0..<count {
            let author = Int(random.next() % UInt64(authors))
            let own = (0..<perCommit).map { _ in
                let path = Int(random.next() % UInt64(paths))
                return Change(
                    path: "Sources/Module\(path % 40)/Folder\(path % 7)/File\(path).swift",
                    added: Int(random.next() % 200),
                    removed: Int(random.next() % 100)
                )
            }
            let hash = String(random.next() | 1 << 63, radix: 16) + String(random.next() | 1 << 63, radix: 16)
            list.append(
                Commit(
                    hash: hash,
                    author: "Author Number \(author)",
                    email: "author.\(author)@example.org",
                    time: 1_600_000_000 + number * 600,
                    message: "Change \(number): mend what was broken before",
                    changes: own
                )
            )
        }
        commits = list
    }
}

extension RowHash {
    /// The hash of a change together with its commit, author and file, whoever holds them.
    init(commit: String, email: String, time: Int, message: String, path: String, added: Int, removed: Int) {
        add(commit)
        add(email)
        add(time)
        add(message)
        add(path)
        add(added)
        add(removed)
    }
}
