/// What all sides work on, made once and before any stopwatch runs.
struct Values: Sendable {
    /// Entries by serial.
    let entries: [EntryValues]
    /// Serials of single rows to look up, in random order, from the stored ones.
    let lookups: [Int]
    let history: GitHistory

    init(_ sizes: Sizes) {
        var random = SplitMix64(seed: 20_260_101)
        let most = max(sizes.inserted, sizes.fetched, sizes.stored, sizes.pendingStored) + 1_000
        entries = (0..<most).map { EntryValues(serial: $0, &random) }
        lookups = (0..<sizes.chosen).map { _ in Int(random.next() % UInt64(sizes.stored)) }
        history = GitHistory(commits: sizes.gitCommits, changes: sizes.gitChanges, &random)
    }

    /// The serials of the rows that are updated or deleted.
    func chosen(_ sizes: Sizes) -> [Int] { (0..<sizes.chosen).map { $0 * sizes.stride } }
}
