extension CommitLog {
    /// The change sets of the newest commits, for sequences of changes.
    ///
    /// A sequence of changes proceeds from commit to commit at its own pace. It reads the change sets kept here or, if
    /// they do not reach back far enough, the history in the store. Therefore no commit is lost or reported twice, and
    /// no reader's backlog is held in memory.
    struct ChangeSets: Sendable {
        /// The number of change sets that are kept.
        static let limit = 256

        /// The newest change sets in the order of commits, without gaps. A commit without a known change set empties
        /// the list.
        private var newest: [ChangeSet] = []
        /// Whether a sequence of changes exists or has existed. Before the first one, no change sets are kept.
        var areKept = false
    }
}

extension CommitLog.ChangeSets {
    /// The kept change sets after a commit; nil if the next one is not kept.
    func after(_ sequence: Int64) -> ArraySlice<ChangeSet>? {
        guard let first = newest.first, let last = newest.last,
            sequence >= first.token.sequence - 1, sequence < last.token.sequence
        else { return nil }
        return newest[Int(sequence - first.token.sequence + 1)...]
    }

    /// Keeps the change set of a new commit, if a sequence of changes may need it; nil if it is not known.
    mutating func keep(_ changes: ChangeSet?) {
        guard areKept else { return }
        guard let changes else { return newest.removeAll() }
        if let last = newest.last, last.token.sequence != changes.token.sequence - 1 { newest.removeAll() }
        if newest.count == Self.limit { newest.removeFirst(Self.limit / 2) }
        newest.append(changes)
    }

    /// Releases the kept change sets, because the store is closed.
    mutating func removeAll() { newest.removeAll() }
}
