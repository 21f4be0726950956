extension Entity {
    /// Applies the delete rules of the gathered deletes to the store. Rows that this context has never seen may refer
    /// to the deleted rows.
    func expandDeletes(_ job: CommitJob) throws {
        guard !info.incoming.isEmpty, let part = job.taken[info.index]?.typed(Row.self) else { return }
        let deleted = part.ids.indices.filter { part.kind(at: $0) == .delete }.map { part.ids[$0] }
        if !deleted.isEmpty { try job.expandDeletes(of: deleted, in: info) }
    }

    /// Notes the effect of deletes on stored rows that refer to the deleted ones. Returns the rows that are deleted,
    /// too.
    func applyDeleteRule(
        _ reference: IncomingReference,
        deleted ids: [Int64],
        of deletedInfo: EntityInfo,
        _ job: CommitJob
    ) throws -> [Int64] {
        if reference.deleteRule == .noAction { return [] }
        let taken = job.taken[info.index]?.typed(Row.self)
        let consequences = consequences(job)
        // This commit itself deletes the row or changes its reference. References that still lead here are found later.
        func isKnown(_ change: Change<Row>?) -> Bool {
            change.map { $0.kind == .delete || $0.columns.contains(reference.column) } ?? false
        }
        var rows: [(row: Row, target: Int64)] = []
        try job.connection.forEachRow(of: info, reference.column, ids) { reader in
            let id = try reader.read(Int64.self, at: 0)
            if isKnown(consequences.changes[id]) || isKnown(taken?[id]) { return }
            rows.append((try Row(_$from: reader), try reader.read(Int64.self, at: Int32(reference.column + 1))))
        }
        var deleted: [Int64] = []
        for (row, target) in rows {
            let base = Base(original: row, storeOriginal: row, sequence: job.base)
            switch reference.deleteRule {
            case .noAction: continue
            case .deny:
                job.denials.append((info.index, info.denial(row._$id, reference, of: deletedInfo, target)))
            case .cascade:
                consequences.add(Change(kind: .delete, columns: ColumnSet(), row: row, base: base))
                deleted.append(row._$id)
            case .nullify:
                var emptied = row
                try emptied._$set(.null, at: reference.column)
                let columns = info.derived.union(ColumnSet(reference.column))
                consequences.add(Change(kind: .update, columns: columns, row: emptied, base: base))
            }
        }
        return deleted
    }

    /// Adds the consequences of deletes to the changes to write.
    func applyConsequences(_ job: CommitJob) {
        let changes = consequences(job).changes
        guard !changes.isEmpty else { return }
        let added = RowChanges(unsorted: Array(changes.values))
        let outcome = job.taken[info.index]?.typed(Row.self).merged(with: added) { $0.followed(by: $1) } ?? added
        job.taken[info.index] = outcome
        // Includes this commit's own changes of these rows.
        if let followed = outcome.filtered({ changes[$0] != nil }) { recordRewritten(followed.typed(Row.self), job) }
    }

    /// Applies the delete rules of this commit to a row that the policy has kept or restored, as if this context had
    /// never seen the row.
    ///
    /// - Returns: whether the rules delete the row.
    func applyDeleteRules(toRetained id: Int64, _ job: CommitJob) throws -> Bool {
        guard let (stored, version) = try stored(id, job) else { return false }
        var row = stored
        let isBack = job.written[info.index]?.typed(Row.self)[id]?.kind == .insert
        var emptied = ColumnSet()
        for reference in info.outgoing {
            let destination = job.schema.entities[reference.destination].info
            guard case .integer(let target) = try row._$value(at: reference.column),
                try job.connection.integer(
                    "SELECT 1 FROM \(destination.sql.table) WHERE \"id\" = ?",
                    [.integer(target)]
                )
                    == nil
            else { continue }
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == reference.column }
            switch rule?.deleteRule {
            case .noAction: continue
            case _ where isBack:
                throw CommitJob.missingReferenceError([missing(reference, of: row, destination, target)])
            case .deny: job.denials.append((info.index, info.denial(id, rule!, of: destination, target)))
            case .cascade:
                try job.connection.execute(info.sql.delete, [.integer(id)])
                recordWritten(Change(kind: .delete, columns: ColumnSet(), row: row, base: nil), job)
                for reference in info.incoming {
                    try job.schema.entities[reference.entity].retainReferring(reference, to: id, job)
                }
                return true
            case .nullify, nil:
                try row._$set(.null, at: reference.column)
                emptied.insert(reference.column)
            }
        }
        guard !emptied.isEmpty, job.denials.isEmpty else { return false }
        let change = Change(kind: .update, columns: info.derived.union(emptied), row: row, base: nil)
        if try write(change, seen: version, job) { recordWritten(change, job) }
        return false
    }

    /// Schedules the delete rules for stored rows that refer to a row which was deleted only now.
    func retainReferring(_ reference: IncomingReference, to id: Int64, _ job: CommitJob) throws {
        let ids = try job.connection.numbers(info.sql.selectReferring[reference.column], [.integer(id)])
        if !ids.isEmpty { job.retained[info.index, default: []].formUnion(ids) }
    }

    /// Notes a change of a row that was written already.
    private func recordWritten(_ change: Change<Row>, _ job: CommitJob) {
        let single = RowChanges(ids: [change.row._$id], changes: [change])
        job.written[info.index] =
            job.written[info.index]?.typed(Row.self).merged(with: single) { older, newer in
                // Combined into one change, for observers of the store.
                older.kind == .delete ? newer : older.followed(by: newer)
            } ?? single
        recordRewritten(single, job)
    }

    /// Whether others have set this column meanwhile, and the policy keeps their value.
    private func isConflictLoss(_ column: Int, of change: Change<Row>, _ job: CommitJob) throws -> Bool {
        guard job.policy != .error, job.policy != .mine, change.kind == .update || change.kind == .updateOfDeleted,
            let base = change.base?.storeOriginal
        else { return false }
        guard let theirs = try stored(change.row._$id, job)?.row else {
            return resolveConflict(.deletedElsewhere, mine: change.row, job.policy) == .theirs
        }
        guard theirs._$differences(from: base).contains(column) else { return false }
        return resolveConflict(ColumnSet(column), mine: change.row, base: base, theirs: theirs, job.policy)
            .conflictLosses.contains(
                column
            )
    }

    func consequences(_ job: CommitJob) -> Consequences<Row> {
        if let known = job.consequences[info.index] { return unsafeDowncast(known, to: Consequences<Row>.self) }
        let made = Consequences<Row>()
        job.consequences[info.index] = made
        return made
    }

    /// Checks that the destinations of changed references are in the store, or in this commit.
    func checkReferences(_ job: CommitJob) throws {
        guard !info.outgoing.isEmpty, let part = job.taken[info.index]?.typed(Row.self) else { return }
        var missing: [StrataError.Detail] = []
        var denials: [StrataError.Detail] = []
        for reference in info.outgoing {
            let destination = job.schema.entities[reference.destination].info
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == reference.column }
            if rule?.deleteRule == .noAction { continue }
            let taken = job.taken[reference.destination]
            var known: Set<Int64> = []
            let exists = try job.connection.statement("SELECT 1 FROM \(destination.sql.table) WHERE \"id\" = ?")
            for change in part.changes
            where change.kind == .insert || change.kind == .undelete
                || (change.kind.isUpdate && change.columns.contains(reference.column))
            {
                guard case .integer(let target) = try change.row._$value(at: reference.column),
                    !known.contains(target)
                else { continue }
                var isThere = false
                if let taken, let index = taken.index(of: target) {
                    isThere = taken.kind(at: index).isVisible
                } else {
                    try exists.run([.integer(target)]) { _ in isThere = true }
                }
                if isThere {
                    known.insert(target)
                } else if let rule, rule.deleteRule == .deny, taken?.index(of: target) != nil {
                    denials.append(info.denial(change.row._$id, rule, of: destination, target))
                } else if try !isConflictLoss(reference.column, of: change, job) {
                    missing.append(self.missing(reference, of: change.row, destination, target))
                }
            }
        }
        guard denials.isEmpty else { throw CommitJob.deniedError(denials) }
        guard missing.isEmpty else { throw CommitJob.missingReferenceError(missing) }
    }

    func missing(
        _ reference: OutgoingReference,
        of row: Row,
        _ destination: EntityInfo,
        _ target: Int64
    ) -> StrataError.Detail {
        StrataError.Detail(
            model: info.name,
            id: row._$id,
            column: info.isJoin ? nil : info.columns[reference.column].name,
            message: "\(info.isJoin ? "has a member or owner" : "refers to") \(destination.name) \(target), which "
                + "does not exist: it was deleted, or another context has not saved it",
            mine: .integer(target)
        )
    }
}

extension CommitJob {
    /// Applies the rules of deleted rows, and of rows that are deleted with them. It uses one statement for each
    /// relationship and round.
    func expandDeletes(of ids: [Int64], in info: EntityInfo) throws {
        // An explicit list instead of recursion, since chains may be longer than the call stack is deep.
        var pending = [(ids, info)]
        while let (ids, info) = pending.popLast() {
            for reference in info.incoming {
                let entity = schema.entities[reference.entity]
                let deleted = try entity.applyDeleteRule(reference, deleted: ids, of: info, self)
                if !deleted.isEmpty { pending.append((deleted, entity.info)) }
            }
        }
    }
}

extension EntityInfo {
    /// The error detail of a row of this entity that forbids the delete of an object to which it refers.
    func denial(
        _ row: Int64,
        _ reference: IncomingReference,
        of deleted: EntityInfo,
        _ id: Int64
    ) -> StrataError.Detail {
        StrataError.Detail(
            model: name,
            id: row,
            column: columns[reference.column].name,
            message: "still refers to \(deleted.name) \(id), and the delete rule of \(reference.relationship) forbids "
                + "the delete"
        )
    }
}

/// The known effects of deletes on stored rows of one entity. Stored by the index of the entity.
final class Consequences<Row: StoredRow> {
    private(set) var changes: [Int64: Change<Row>] = [:]

    func add(_ change: Change<Row>) {
        changes[change.row._$id] = changes[change.row._$id]?.followed(by: change) ?? change
    }
}
