extension EntityCommit {
    /// The result for layers, live objects and observers, after all rows are written.
    func publish() -> EntityResult {
        if taken != nil, job.mayShowOtherRows { recordConflictLosses() }
        return EntityResult(
            entity: info.index,
            taken: taken,
            rows: written,
            rewritten: rowsShownDifferently,
            cancelledInserts: cancelledInserts,
            merged: merged,
            moved: moved,
            includedRows: includedRows,
            deletedElsewhere: deletedElsewhere
        )
    }

    /// The rows whose result differs from the committer's version; nil if there are none.
    private var rowsShownDifferently: RowChanges<Row>? {
        if rewritten.isEmpty { return numbered }
        let others = RowChanges(unsorted: Array(rewritten.values))
        return numbered?.merged(with: others) { $1 } ?? others
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
