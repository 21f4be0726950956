extension EntityCommit {
    /// Validates the rows that this commit writes. The failures are collected in the commit.
    func validate() {
        guard let taken else { return }
        var found: [StrataError.Detail] = []
        entity.validate([taken], &found)
        job.failures += found.map(namingContext)
    }

    /// Adds the name of the inserting context to the message about a row that this commit includes.
    private func namingContext(_ detail: StrataError.Detail) -> StrataError.Detail {
        guard includedRows.contains(detail.id),
            let context = job.foreignPath.last(where: { context in
                job.layers[context].contains { $0.parts[info.index]?.index(of: detail.id) != nil }
            })
        else { return detail }
        return detail.saying(
            "\(detail.message); the row was inserted in \(job.commit.names(context)), which has not saved it"
        )
    }

    /// Checks that the destinations of changed references are in the store, or in this commit.
    func checkReferences() throws {
        guard !info.outgoing.isEmpty, let part = taken else { return }
        var missing: [StrataError.Detail] = []
        var denials: [StrataError.Detail] = []
        for reference in info.outgoing {
            let destination = job.schema.entities[reference.destination].info
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == reference.column }
            if rule?.deleteRule == .noAction { continue }
            let taken = job.taken(reference.destination)
            var known: Set<Int64> = []
            let exists = try connection.statement("SELECT 1 FROM \(destination.sql.table) WHERE \"id\" = ?")
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
                } else if try !isConflictLoss(reference.column, of: change) {
                    missing.append(entity.missing(reference, of: change.row, destination, target))
                }
            }
        }
        guard denials.isEmpty else { throw CommitJob.deniedError(denials) }
        guard missing.isEmpty else { throw CommitJob.missingReferenceError(missing) }
    }

    /// Whether others have set this column meanwhile, and the policy keeps their value.
    private func isConflictLoss(_ column: Int, of change: Change<Row>) throws -> Bool {
        guard job.policy != .error, job.policy != .mine, change.kind == .update || change.kind == .updateOfDeleted,
            let base = change.base?.storeOriginal
        else { return false }
        guard let theirs = try stored(change.row._$id)?.row else {
            return entity.resolveConflict(.deletedElsewhere, mine: change.row, job.policy) == .theirs
        }
        guard theirs._$differences(from: base).contains(column) else { return false }
        return entity.resolveConflict(ColumnSet(column), mine: change.row, base: base, theirs: theirs, job.policy)
            .conflictLosses.contains(column)
    }
}
