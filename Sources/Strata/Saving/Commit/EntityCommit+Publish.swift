/// The result of a commit for the rows of one entity.
struct EntityResult {
    let entity: Int
    /// The changes that were taken: their columns and their bases; nil if there were none.
    let taken: (any AnyRowChanges)?
    /// The rows as they are in the store now; nil if none was written.
    let rows: (any AnyRowChanges)?
    /// The rows whose result differs from the committer's version.
    let rewritten: (any AnyRowChanges)?
    /// Rows that the committer had inserted and deleted again.
    let cancelledInserts: (any AnyRowChanges)?
    /// The rows that this commit wanted to add, and the members that existed already in their place.
    let merged: [Int64: Int64]
    /// The references to inserted rows that stored rows have absorbed.
    let moved: [MovedReferences]
    /// The rows that a parent had inserted and that the commit included.
    let includedRows: Set<Int64>
    /// The rows that this commit deletes or changes, and that others had already deleted.
    let deletedElsewhere: Set<Int64>
}

extension EntityCommit {
    /// The result for layers, live objects and observers, after all rows are written.
    func publish() -> EntityResult {
        if taken != nil, job.mayShowOtherRows { recordConflictLosses() }
        return EntityResult(
            entity: info.index,
            taken: taken,
            rows: written,
            rewritten: rewritten.isEmpty ? nil : RowChanges(unsorted: Array(rewritten.values)),
            cancelledInserts: cancelledInserts,
            merged: merged,
            moved: moved,
            includedRows: includedRows,
            deletedElsewhere: deletedElsewhere
        )
    }

    /// Records rows that the committer shows differently after the commit.
    ///
    /// Rows that parents have changed as well show the parents' values after the committer's own change is gone. Rows
    /// with discarded changes show the remaining ones.
    private func recordConflictLosses() {
        guard let written else { return }
        var ids = conflictLosses
        for context in job.foreignPath {
            ids.formUnion(written.touched(in: job.layers, context: context, entity: info.index))
        }
        // An undelete shows the row that its context knew. If the commit also writes a delete from a layer below, the
        // result has the values that lie under this delete.
        for part in job.layers.parts(of: info.index, in: job.path) where part.kinds.contains(ChangeKinds(.undelete)) {
            ids.formUnion(part.ids.enumerated().filter { part.kind(at: $0.offset) == .undelete }.map(\.element))
        }
        guard !ids.isEmpty, let differing = written.filtered(ids.contains) else { return }
        recordRewritten(differing.typed(Row.self))
    }

    /// Records rows whose result differs from the committer's version.
    func recordRewritten(_ part: RowChanges<Row>) {
        for change in part.changes { recordRewritten(change) }
    }

    /// Records one row whose result differs from the committer's version. Complexity: O(1).
    func recordRewritten(_ change: Change<Row>) { rewritten[change.row._$id] = change }
}

extension CommitRecord {
    /// The record of a commit that has written its rows.
    convenience init(of job: CommitJob, _ results: [EntityResult], _ changes: ChangeSet) {
        var taken: [Int: any AnyRowChanges] = [:]
        var rows: [Int: any AnyRowChanges] = [:]
        var rewritten: [Int: any AnyRowChanges] = [:]
        var cancelledInserts: [Int: any AnyRowChanges] = [:]
        var merged: [Int: [Int64: Int64]] = [:]
        var moved: [Int: [MovedReferences]] = [:]
        var includedRows: [Int: Set<Int64>] = [:]
        for result in results {
            let entity = result.entity
            if let part = result.taken { taken[entity] = part }
            if let part = result.rows { rows[entity] = part }
            if let part = result.rewritten { rewritten[entity] = part }
            if let part = result.cancelledInserts { cancelledInserts[entity] = part }
            if !result.merged.isEmpty { merged[entity] = result.merged }
            if !result.moved.isEmpty { moved[entity] = result.moved }
            if !result.includedRows.isEmpty { includedRows[entity] = result.includedRows }
        }
        self.init(
            sequence: job.sequence,
            committer: job.commit.committer,
            included: Set(job.commit.frozen.keys),
            segments: job.segments,
            known: job.known,
            taken: taken,
            rows: rows,
            rewritten: rewritten,
            merged: merged,
            cancelledInserts: cancelledInserts,
            moved: moved,
            includedRows: includedRows,
            changes: changes
        )
    }
}
