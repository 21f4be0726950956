import Foundation

extension CommitJob {
    /// Turns inserts into updates of the rows that have the same unique values (``UniqueConflict/update``).
    ///
    /// The contexts have done so before the transaction, see ``ObjectContext/mergeDuplicateInserts(_:)``. Other
    /// writers may have committed since, so the commit looks again in the store, where no other writer can commit now.
    /// The commit's values replace the values of those writers.
    func mergeDuplicateInserts() throws {
        let updating = schema.updating.filter { hasPart(of: $0) || commit.mergeTargets[$0] != nil }.map(part(of:))
        for part in updating {
            let holders = try part.findHolders()
            if holders.isEmpty { continue }
            for reference in part.info.incoming {
                let references = MovedReferences(column: reference.column, holders: holders)
                self.part(of: reference.entity).move(references)
            }
        }
        for part in activeParts { try part.moveReferences() }
        for part in updating { try part.restateMergeTargets() }
    }
}

extension EntityCommit {
    /// Finds the stored rows with the unique values of rows of this commit. Returns them by the id of the latter.
    ///
    /// The rows of the commit are inserts, and rows that have absorbed inserts but were deleted by another writer
    /// since.
    func findHolders() throws -> [Int64: Int64] {
        if let taken, taken.kinds.contains(.insert) {
            // A parent's row that this commit includes is absorbed when the parent saves.
            for change in taken.changes where change.kind == .insert && !includedRows.contains(change.row._$id) {
                holders[change.row._$id] = try freeHolder(of: change.row)
            }
        }
        for known in job.commit.mergeTargets[info.index]?.typed(Row.self).changes ?? [] {
            let id = known.row._$id
            if try hasInserted(id) || stored(id) != nil { continue }
            holders[id] = try freeHolder(of: known.row)
        }
        return holders
    }

    /// The stored row with the unique values of another row.
    ///
    /// Nil if this commit changes these values of the stored row, or if a parent has changed them without saving. Only
    /// that parent may decide about its change, so the commit fails for such values.
    private func freeHolder(of row: Row) throws -> Int64? {
        for unique in info.updating {
            guard let holder = try holder(of: row, unique) else { continue }
            let parents = job.foreignPath.map { job.layers.top(holder, entity: info.index, in: [$0], Row.self) }
            let isFree = (parents + [taken?[holder]]).allSatisfy { change in
                change.map { $0.kind.isUpdate && !unique.contains(where: $0.columns.contains) } ?? true
            }
            if isFree { return holder }
        }
        return nil
    }

    /// Whether a context has inserted a row and not saved it.
    private func hasInserted(_ id: Int64) -> Bool {
        job.layers.contains(.insert, of: id, entity: info.index, in: job.path)
    }

    /// Notes references to inserted rows that stored rows have absorbed.
    func move(_ references: MovedReferences) { moved.append(references) }

    /// Redirects references of this commit to the rows that have absorbed inserted rows.
    func moveReferences() throws {
        guard !moved.isEmpty, let part = taken else { return }
        var redirected: [Change<Row>] = []
        let changes = try part.changes.map { change in
            guard let other = change.moving(moved) else { return change }
            for reference in moved where info.oneToOne.contains(reference.column) {
                try freeOneToOne(reference.column, for: other.row, part)
            }
            redirected.append(Change(kind: .update, columns: ColumnSet(), row: other.row, base: nil))
            return other
        }
        guard !redirected.isEmpty else { return }
        taken = RowChanges(ids: part.ids, changes: changes)
        recordRewritten(RowChanges(unsorted: redirected))
    }

    /// Clears one-to-one references of stored rows to an object to which a row of this commit refers now.
    private func freeOneToOne(_ column: Int, for row: Row, _ part: RowChanges<Row>) throws {
        guard case .integer(let destination) = try row._$value(at: column) else { return }
        var others: [Row] = []
        try connection.statement(info.sql.selectReferring[column]).run([.integer(destination)]) { reader in
            others.append(try Row(_$from: reader))
        }
        for var other in others where other._$id != row._$id {
            if let change = part[other._$id], change.kind == .delete || change.columns.contains(column) { continue }
            let base = Base(original: other, storeOriginal: other, sequence: job.base)
            try other._$set(.null, at: column)
            let columns = info.derived.union(ColumnSet(column))
            addConsequence(Change(kind: .update, columns: columns, row: other, base: base))
        }
    }

    /// Gives the absorbing rows all values of the inserted ones, on top of their newest stored state.
    func restateMergeTargets() throws {
        let known = job.commit.mergeTargets[info.index]?.typed(Row.self)
        if known == nil && holders.isEmpty { return }
        let part = taken
        var edits: [Int64: Change<Row>?] = [:]
        var cancelled: [Change<Row>] = []
        for change in known?.changes ?? [] where holders[change.row._$id] == nil {
            let id = change.row._$id
            if hasInserted(id) { continue }
            var row = change.row
            if let edited = part?[id] {
                guard edited.kind.isUpdate else { continue }
                row._$copy(edited.columns, from: edited.row)
            }
            edits[id] = .some(try restated(id, as: row, part?[id]))
        }
        for (id, holder) in holders.sorted(by: { $0.key < $1.key }) {
            guard let change = part?[id] ?? known?[id] else { continue }
            edits[id] = .some(nil)
            if change.kind == .insert {
                cancelled.append(Change(kind: .cancelledInsert, columns: ColumnSet(), row: change.row, base: nil))
            } else {
                recordRewritten(Change(kind: .delete, columns: ColumnSet(), row: change.row, base: nil))
            }
            edits[holder] = .some(try restated(holder, as: change.row, change))
        }
        let changes = (part?.changes ?? []).filter { edits[$0.row._$id] == nil } + edits.values.compactMap(\.self)
        taken = changes.isEmpty ? nil : RowChanges(unsorted: changes)
        guard !cancelled.isEmpty else { return }
        let gone = RowChanges(unsorted: cancelled)
        cancelledInserts = cancelledInserts?.merged(with: gone) { $0.followed(by: $1) } ?? gone
    }

    /// The change that gives a stored row all values of another one; nil if it has them already.
    ///
    /// - Parameter edited: the change with the time of the update.
    private func restated(_ id: Int64, as row: Row, _ edited: Change<Row>?) throws -> Change<Row>? {
        job.conflicts.removeAll { $0.model == info.name && $0.id == id }
        guard let stored = try stored(id)?.row else {
            // Another writer has deleted the row. The commit overrides this delete as well.
            let columns = ColumnSet(first: info.columns.count).subtracting(info.automatic)
            let base = Base(original: row, storeOriginal: row, sequence: job.base, parentVersion: .gone)
            return Change(kind: .undelete, columns: columns, row: row, base: base)
        }
        var columns = row._$differences(from: stored).subtracting(info.automatic)
        var restated = stored
        restated._$copy(columns, from: row)
        if let updatedAt = info.updatedAt, !columns.isEmpty {
            columns.insert(updatedAt)
            if let edited, edited.kind == .insert || edited.columns.contains(updatedAt) {
                restated._$copy(ColumnSet(updatedAt), from: edited.row)
            } else {
                try restated._$set(.real(Date().timeIntervalSinceReferenceDate), at: updatedAt)
            }
        }
        if !columns.isEmpty { columns.formUnion(info.derived) }
        let change = Change(
            kind: .update,
            columns: columns,
            row: restated,
            base: Base(inStore: stored, sequence: job.base)
        )
        recordRewritten(change)
        return columns.isEmpty ? nil : change
    }
}
