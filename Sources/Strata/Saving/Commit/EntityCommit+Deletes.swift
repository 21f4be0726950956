extension EntityCommit {
    /// Applies the delete rules of the gathered deletes to the store. Rows that this context has never seen may refer
    /// to the deleted rows.
    func expandDeletes() throws {
        guard !info.incoming.isEmpty, let taken else { return }
        let deleted = taken.ids.indices.filter { taken.kind(at: $0) == .delete }.map { taken.ids[$0] }
        if !deleted.isEmpty { try job.expandDeletes(of: deleted, in: info) }
    }

    /// Notes the effect of deletes on stored rows that refer to the deleted ones. Returns the rows that are deleted,
    /// too.
    func applyDeleteRule(
        _ reference: IncomingReference,
        deleted ids: [Int64],
        of deletedInfo: EntityInfo
    ) throws -> [Int64] {
        if reference.deleteRule == .noAction { return [] }
        // This commit itself deletes the row or changes its reference. References that still lead here are found later.
        func isKnown(_ change: Change<Row>?) -> Bool {
            change.map { $0.kind == .delete || $0.columns.contains(reference.column) } ?? false
        }
        var rows: [(row: Row, target: Int64)] = []
        try connection.forEachRow(of: info, reference.column, ids) { reader in
            let id = try reader.read(Int64.self, at: 0)
            if isKnown(consequences[id]) || isKnown(taken?[id]) { return }
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
                addConsequence(Change(kind: .delete, columns: ColumnSet(), row: row, base: base))
                deleted.append(row._$id)
            case .nullify:
                var emptied = row
                try emptied._$set(.null, at: reference.column)
                let columns = info.derived.union(ColumnSet(reference.column))
                addConsequence(Change(kind: .update, columns: columns, row: emptied, base: base))
            }
        }
        return deleted
    }

    /// Adds the consequences of deletes to the changes to write.
    func applyConsequences() {
        guard !consequences.isEmpty else { return }
        let added = RowChanges(unsorted: Array(consequences.values))
        let outcome = taken?.merged(with: added) { $0.followed(by: $1) } ?? added
        taken = outcome
        // Includes this commit's own changes of these rows.
        if let followed = outcome.filtered({ consequences[$0] != nil }) { recordRewritten(followed.typed(Row.self)) }
    }

    /// Notes the effect of a delete on a stored row.
    func addConsequence(_ change: Change<Row>) {
        consequences[change.row._$id] = consequences[change.row._$id]?.followed(by: change) ?? change
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
                let part = part(of: reference.entity)
                let deleted = try part.applyDeleteRule(reference, deleted: ids, of: info)
                if !deleted.isEmpty { pending.append((deleted, part.info)) }
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
