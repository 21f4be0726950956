/// The work of one commit inside a transaction, and its end.
///
/// Isolation: used by one thread at a time, in the order of the calls of a ``WaitingWrite``.
final class CommitAttempt {
    private let commit: PendingCommit
    private var taken = TakenSegments()
    private var externals: ExternalWriter?
    private var isThawed = false
    /// The result; nil if there was nothing to write.
    private(set) var record: CommitRecord?

    init(_ commit: PendingCommit) { self.commit = commit }

    /// Writes the commit and the consequences of engines, and announces both to the layers.
    ///
    /// - Returns: the tables that were written.
    func run(on connection: Connection) throws -> [String] {
        let store = commit.store
        let base = try connection.sequence()
        let snapshot: LayerSnapshot
        (snapshot, taken) = try store.layers.prepareCommit(commit, base: base, connection: connection)
        let job = CommitJob(commit, connection: connection, layers: snapshot, taken: taken, base: base)
        externals = job.externals
        record = try job.run()
        let rows = record?.rows ?? [:]
        var tables = rows.keys.map { store.schema.entities[$0].info.table }
        var commits = record.map { [$0] } ?? []
        if !store.schema.commitHooks.isEmpty || commit.alongside != nil,
            let (following, others) = try store.runCommitHooks(
                record?.sequence ?? base,
                record?.changes?.changes ?? CommitChanges(),
                rows,
                commit.alongside?.author ?? commit.author,
                on: connection,
                alongside: commit.alongside?.body
            )
        {
            commits.append(CommitRecord(following, store.schema))
            tables += others
        }
        store.layers.announce(commits)
        return tables
    }

    /// Ends a run: the commit is in the store, or is not. Then it may run again, and takes its segments again.
    func end(_ isCommitted: Bool) {
        if !isCommitted {
            externals?.abandon()
            commit.alongside?.rolledBack()
        }
        commit.store.layers.release(taken)
        if isCommitted { return thaw() }
        (taken, externals, record) = (TakenSegments(), nil, nil)
    }

    /// Allows the segments that the commit has taken to be merged with others. Must be called after the last run.
    func thaw() {
        guard !isThawed else { return }
        isThawed = true
        commit.store.layers.thaw(Set(commit.frozen.values.joined()))
    }
}
