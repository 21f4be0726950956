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
    let callbacks: TakenCallbacks
    /// An engine's work in the same transaction, after the commit.
    let alongside: EngineWork?

    /// An engine's work after a commit in the same transaction.
    struct EngineWork: Sendable {
        /// The name of the author of this work.
        let author: String
        let body: @Sendable (StoreTransaction) throws -> Void
        /// Called if the work is rolled back, before another commit of this process can get its number. In a store with a
        /// home, `body` may be called again afterwards.
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
        let watch = store.telemetry.startMeasuring()
        let attempt = CommitAttempt(self)
        let result = Result {
            let isSmall = store.layers.rowCount(of: self) <= WriteGroup.sharedRowLimit
            try store.write(for: { label }, mayShare: isSmall, access: .newest) { connection in
                watch?.hasBegun()
                return try attempt.run(on: connection)
            } ended: { isCommitted in
                attempt.end(isCommitted)
            }
            return attempt.record
        }
        // A commit that has failed, or whose transaction never began, has not done this.
        attempt.thaw()
        return try store.report(result, watch, of: label)
    }
}

extension Store {
    /// Reports the result of a commit to the log and the metrics, and returns it.
    ///
    /// - Throws: the error of the result. Errors of the application are passed on unchanged.
    func report(
        _ result: Result<CommitRecord?, any Error>,
        _ watch: WriteWatch?,
        of context: @autoclosure () -> String
    ) throws -> CommitRecord? {
        let result = result.mapError { ($0 as? StrataError)?.passed ?? $0 }
        telemetry.report(.commit, watch, of: context(), journal: journal, waitingWrites: waitingWriteCount, result) {
            record in
            record.map { WriteOutcome(sequence: $0.sequence, rows: RowCounts($0.rows.values)) }
        }
        return try result.get()
    }
}
