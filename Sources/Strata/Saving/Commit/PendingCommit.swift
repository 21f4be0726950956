/// The input of a commit: a context's prepared changes, which are not written yet. It may be written on any thread.
struct PendingCommit: Sendable {
    let store: Store
    let committer: Int
    /// The committer's name, if it has one.
    let name: ContextName?
    /// The segments that the preparation has added to the committer's layer. They are held in place, and removed if the
    /// commit fails.
    let added: Set<Int>
    /// The contexts whose layers are taken as a whole, and the segments of these layers. They are the committer, and
    /// the other contexts of its chain. A chain is a path of contexts down to the store that commits as one.
    let frozen: [Int: Set<Int>]
    let policy: MergePolicy
    /// The author of the commit, for the history.
    let author: String?
    /// The reads that must still be valid when the commit is written; nil if this does not matter.
    let reads: ContextReadSet?
    /// The rows that have absorbed inserted rows, by entity, in the state in which the commit must leave them.
    let mergeTargets: [Int: any AnyRowChanges]
    /// The names of contexts, for messages.
    let names: @Sendable (Int) -> String
    /// The callbacks that run after the commit.
    let callbacks: [CommitCallbacks.Callback]
    /// An engine's work in the same transaction, after the commit.
    let alongside: EngineWork?
    /// Whether the commit goes ahead of other writers of this process, which wait for it.
    let isAhead: Bool

    /// An engine's work after a commit in the same transaction.
    struct EngineWork: Sendable {
        /// The name of the author of this work.
        let author: String
        let body: @Sendable (StoreTransaction) throws -> Void
        /// Called if the work is rolled back, before another commit of this process can get its number.
        let rolledBack: @Sendable () -> Void
    }

    /// The committer's name in logs.
    private var label: String { ContextName.label(name, committer) }

    /// Allows the added segments to be merged with others, after the outcome of the commit is known.
    func release() { store.layers.thaw(added) }

    /// Writes the commit, and applies it to all layers. Blocks the thread while the disk is busy.
    ///
    /// - Returns: nil if there were no changes to write.
    func write() throws -> CommitRecord? {
        try store.telemetry.measuring(.commit, of: label, journal: store.journal) {
            do { return try write($0) } catch let error as StrataError { throw error.passed }
        } outcome: { record in
            record.map { WriteOutcome(sequence: $0.sequence, rows: RowCounts($0.rows.values)) }
        }
    }

    private func write(_ watch: WriteWatch?) throws -> CommitRecord? {
        let layers = store.layers
        defer { layers.thaw(Set(frozen.values.joined())) }
        var record: CommitRecord?
        var taken = TakenSegments()
        var externals: ExternalWriter?
        try store.write(for: { label }, sharing: .rows(layers.rowCount(of: self)), isAhead: isAhead) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            let snapshot: LayerSnapshot
            (snapshot, taken) = try layers.prepareCommit(self, base: base, connection: connection)
            let job = CommitJob(self, connection: connection, layers: snapshot, taken: taken, base: base)
            externals = job.externals
            record = try job.run()
            let rows = record?.rows ?? [:]
            var tables = rows.keys.map { store.schema.entities[$0].info.table }
            var commits = record.map { [$0] } ?? []
            if !store.schema.commitHooks.isEmpty || alongside != nil,
                let (commit, others) = try store.runCommitHooks(
                    record?.sequence ?? base,
                    record?.changes?.changes ?? CommitChanges(),
                    rows,
                    alongside?.author ?? author,
                    on: connection,
                    alongside: alongside?.body
                )
            {
                commits.append(CommitRecord(commit, store.schema))
                tables += others
            }
            layers.announce(commits)
            return tables
        } ended: { isCommitted in
            if !isCommitted {
                externals?.abandon()
                alongside?.rolledBack()
            }
            layers.release(taken)
        }
        return record
    }
}
