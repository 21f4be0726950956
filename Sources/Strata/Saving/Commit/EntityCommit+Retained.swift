/// Delete rules for rows that the merge policy has kept or restored, although this commit may delete the objects to
/// which they refer.
extension EntityCommit {
    /// Applies the delete rules to the retained rows of this entity.
    ///
    /// - Returns: whether the rules have deleted a row. Other rows may refer to it.
    func applyDeleteRulesToRetained() throws -> Bool {
        var hasDeleted = false
        for id in retained where try applyDeleteRules(toRetained: id) { hasDeleted = true }
        return hasDeleted
    }

    /// Schedules the delete rules for rows that refer to a row which was deleted only now.
    func retain(_ ids: [Int64]) { retained.formUnion(ids) }

    /// Applies the delete rules of this commit to a row that the policy has kept or restored, as if this context had
    /// never seen the row.
    ///
    /// - Returns: whether the rules delete the row.
    private func applyDeleteRules(toRetained id: Int64) throws -> Bool {
        guard let (stored, version) = try stored(id) else { return false }
        var row = stored
        let isBack = written?[id]?.kind == .insert
        var emptied = ColumnSet()
        for reference in info.outgoing {
            let destination = job.schema.entities[reference.destination].info
            guard case .integer(let target) = try row._$value(at: reference.column),
                try connection.integer(
                    "SELECT 1 FROM \(destination.sql.table) WHERE \"id\" = ?",
                    [.integer(target)]
                ) == nil
            else { continue }
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == reference.column }
            switch rule?.deleteRule {
            case .noAction: continue
            case _ where isBack:
                throw CommitJob.missingReferenceError([entity.missing(reference, of: row, destination, target)])
            case .deny: job.denials.append((info.index, info.denial(id, rule!, of: destination, target)))
            case .cascade:
                try job.commit.store.unopened?.checkDelete(of: [id], info, on: connection)
                try connection.execute(info.sql.delete, [.integer(id)])
                recordWritten(Change(kind: .delete, columns: ColumnSet(), row: row, base: nil))
                for reference in info.incoming { try job.retainReferring(reference, to: id) }
                return true
            case .nullify, nil:
                try row._$set(.null, at: reference.column)
                emptied.insert(reference.column)
            }
        }
        guard !emptied.isEmpty, job.denials.isEmpty else { return false }
        let change = Change(kind: .update, columns: info.derived.union(emptied), row: row, base: nil)
        if try write(change, seen: version) { recordWritten(change) }
        return false
    }

    /// Notes a change of a row that was written already.
    private func recordWritten(_ change: Change<Row>) {
        let single = RowChanges(ids: [change.row._$id], changes: [change])
        written =
            written?.merged(with: single) { older, newer in
                // Combined into one change, for observers of the store.
                older.kind == .delete ? newer : older.followed(by: newer)
            } ?? single
        recordRewritten(single)
    }
}

extension CommitJob {
    /// Applies the delete rules to all retained rows, and to rows that refer to rows which are deleted thereby.
    func applyDeleteRulesToRetained() throws {
        guard conflicts.isEmpty else { return }
        var hasDeleted = true
        while hasDeleted {
            hasDeleted = false
            for part in activeParts where try part.applyDeleteRulesToRetained() { hasDeleted = true }
        }
        if !denials.isEmpty { throw Self.deniedError(denials.map(\.detail)) }
    }

    /// Schedules the delete rules for stored rows that refer to a row which was deleted only now.
    func retainReferring(_ reference: IncomingReference, to id: Int64) throws {
        let referring = schema.entities[reference.entity].info
        let ids = try connection.numbers(referring.sql.selectReferring[reference.column], [.integer(id)])
        if !ids.isEmpty { part(of: reference.entity).retain(ids) }
    }
}
