extension EntityCommit {
    /// Gathers the changes of this entity that the commit writes.
    ///
    /// They are the changes of the contexts that the commit takes as a whole, and the changes that the committer has
    /// saved upward before.
    func gather() {
        var gathered: RowChanges<Row>?
        for context in job.path {
            // In a chain, the deletes of this layer do not affect conflicts of the layers below it.
            let first = job.isChain ? job.conflicts.count : 0
            var level: RowChanges<Row>?
            for segment in job.layers[context] {
                guard job.segments.contains(segment.id), let part = segment.parts[info.index] else { continue }
                let newer = part.typed(Row.self)
                level = level?.merged(with: newer) { combine($0, $1, first) } ?? newer
            }
            guard let level else { continue }
            gathered =
                gathered?.merged(with: level) { older, newer in
                    if job.isChain { return meet(older, newer) }
                    if newer.kind == .delete { forgetConflicts(newer, first) }
                    return older.followed(by: newer)
                } ?? level
        }
        guard let gathered, gathered.kinds.contains(.cancelledInsert) else {
            taken = gathered
            return
        }
        cancelledInserts = RowChanges(unsorted: gathered.changes.filter { $0.kind == .cancelledInsert })
        let changes = gathered.changes.filter { $0.kind != .cancelledInsert }
        taken = changes.isEmpty ? nil : RowChanges(unsorted: changes)
    }

    /// Combines the change of a layer with the changes of the layers below it in a chain, with the same conflicts as by
    /// a save.
    private func meet(_ older: Change<Row>, _ newer: Change<Row>) -> Change<Row> {
        var newer = newer
        if conflictLosses.contains(newer.row._$id) {
            newer = newer.rebased(onto: older.kind.isVisible ? older.row : nil) ?? newer
        }
        if older.kind == .cancelledInsert, newer.kind == .updateOfDeleted { return meetDeleted(older, newer) }
        guard newer.kind == .delete else { return combine(older, newer, job.conflicts.count) }
        guard let base = newer.base, case .changed(let beneath) = base.parentVersion else {
            return older.followed(by: newer)
        }
        var unseen = beneath._$differences(from: base.original)
        if older.kind != .insert { unseen = unseen.intersection(older.columns) }
        if unseen.isEmpty { return older.followed(by: newer) }
        switch entity.resolveConflict(.changedElsewhere, mine: newer.row, job.policy) {
        case .mine: break
        case .theirs:
            recordConflictLoss(newer.row._$id)
            return older
        case .error:
            job.conflicts += entity.changedElsewhere(newer.row, unseen, base: base.original, theirs: beneath)
        }
        return older.followed(by: newer)
    }

    /// Drops earlier conflicts of a deleted row. The row that the delete was made from is compared with the store
    /// instead.
    private func forgetConflicts(_ delete: Change<Row>, _ first: Int) {
        guard job.conflicts.count > first else { return }
        job.conflicts[first...].removeAll { $0.id == delete.row._$id && $0.model == info.name }
    }

    /// Combines a change with an older one of the same layer.
    ///
    /// The newer change may have been made without knowledge of the older one, which a child has saved there. Then the
    /// merge policy decides.
    ///
    /// - Parameter first: the first of the conflicts that a delete makes irrelevant.
    private func combine(_ older: Change<Row>, _ newer: Change<Row>, _ first: Int) -> Change<Row> {
        if newer.kind == .delete { forgetConflicts(newer, first) }
        guard let base = newer.base else { return older.followed(by: newer) }
        if older.kind == .delete, newer.kind == .updateOfDeleted { return meetDeleted(older, newer) }
        guard newer.kind.isUpdate, case .changed(let beneath) = base.parentVersion else {
            return older.followed(by: newer)
        }
        var newer = newer
        // Other rows below do not matter for a commit, which compares with the store only.
        let unseen = newer.conflicting(with: beneath)
            .intersection(older.kind == .insert ? newer.columns : older.columns)
            .subtracting(info.automatic)
        let resolution = entity.resolveConflict(
            unseen,
            mine: newer.row,
            base: base.original,
            theirs: beneath,
            job.policy
        )
        job.conflicts += resolution.conflicts
        if resolution.isChanged {
            recordConflictLoss(newer.row._$id)
            newer.row = resolution.row
            newer.columns = entity.rest(of: newer.columns, without: resolution.conflictLosses)
            if newer.columns.isEmpty { return older }
        }
        return older.followed(by: newer)
    }

    /// Combines the delete of a row with a later edit of the row, after asking the merge policy.
    private func meetDeleted(_ older: Change<Row>, _ newer: Change<Row>) -> Change<Row> {
        switch resolveDeletedElsewhere(newer) {
        case .mine: return older.followed(by: newer)
        case .theirs: recordConflictLoss(newer.row._$id)
        case .error: job.conflicts += entity.deletedElsewhere(newer)
        }
        // If another delete follows, this one still has the base that was known of the row in the store.
        return older
    }

    /// Notes that the merge policy has discarded or rewritten changes of a row.
    private func recordConflictLoss(_ id: Int64) {
        conflictLosses.insert(id)
        job.hasConflictLosses = true
    }

    /// Lets the policy decide about a change of this commit whose row was deleted elsewhere.
    func resolveDeletedElsewhere(_ change: Change<Row>) -> ObjectResolution {
        let onlyClearsDeleted = entity.onlyClearsDeleted(change) { entity, id in
            guard let taken = job.taken(entity), let index = taken.index(of: id) else { return false }
            return taken.kind(at: index) == .delete
        }
        return onlyClearsDeleted ? .theirs : entity.resolveConflict(.deletedElsewhere, mine: change.row, job.policy)
    }
}
