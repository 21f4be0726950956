import CStrataSQLite

extension EntityCommit {
    /// Writes the gathered changes of this entity: deletes, then updates, then inserts. In this order, unique values
    /// are free before they are taken.
    func write() throws {
        guard var part = taken else { return }
        if let column = info.commitNumber { part = try numberRows(of: part, column) }
        /// Rows whose result in the store differs from their change.
        var others: [Int64: Change<Row>] = [:]
        if !info.externals.isEmpty {
            for change in part.changes where change.kind != .delete {
                try job.externals.write(change.row, change.kind == .insert ? info.externals : change.columns, info)
            }
        }
        if part.kinds.contains(.delete) {
            try delete(part, &others)
        }
        if !part.kinds.isDisjoint(with: .updates) {
            try update(part, &others)
        }
        if part.kinds.contains(.insert) {
            try insert(part, &others)
        }
        try checkNothingVacated()
        guard !others.isEmpty else {
            written = part
            return
        }
        var outcome = zip(part.ids, part.changes).map { others.removeValue(forKey: $0) ?? $1 }
        // Rows that were not in this part may have absorbed rows of it.
        outcome += others.values
        written = RowChanges(unsorted: outcome)
    }

    /// The statement that sets certain columns. In most commits, the rows have changed in the same columns.
    private struct UpdateStatement {
        let columns: ColumnSet
        let statement: Statement
    }

    /// The row in the store with its version.
    ///
    /// If the row's unique value was replaced temporarily, this is the row before.
    func stored(_ number: Int64) throws -> (row: Row, version: Int64)? {
        if let before = vacated[number] { return (before.row, before.version) }
        var result: (row: Row, version: Int64)?
        try connection.statement(info.sql.selectWithVersion).run([.integer(number)]) { reader in
            result = (try Row(_$from: reader), try reader.read(Int64.self, at: Int32(info.columns.count + 1)))
        }
        return result
    }

    // MARK: Deletes

    /// Deletes the rows that a part deletes. Rows that stay are added to `others`.
    private func delete(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>]) throws {
        let statement = try connection.statement(info.sql.deleteUnchanged)
        try part.changes.withUnsafeBufferPointer { changes in
            for index in changes.indices where changes[index].kind == .delete {
                if let other = try delete(changes.baseAddress! + index, by: statement) {
                    others[other.row._$id] = other
                }
            }
        }
    }

    private func delete(_ change: UnsafePointer<Change<Row>>, by statement: Statement) throws -> Change<Row>? {
        let number = change.pointee.row._$id
        guard let base = change.pointee.base else {
            try connection.execute(info.sql.delete, [.integer(number)])
            if connection.changes == 0 { deletedElsewhere.insert(number) }
            return nil
        }
        try statement.binder.bind(number, at: 1)
        try statement.binder.bind(base.sequence, at: 2)
        guard try statement.runBound() == 0 else { return nil }
        guard let theirs = try stored(number) else {
            deletedElsewhere.insert(number)
            return nil
        }
        let columns = theirs.row._$differences(from: base.storeOriginal ?? base.original).subtracting(info.bookkeeping)
        let resolution: ObjectResolution =
            columns.isEmpty ? .mine : entity.resolveConflict(.changedElsewhere, mine: change.pointee.row, job.policy)
        switch resolution {
        case .mine:
            try connection.execute(info.sql.delete, [.integer(number)])
            // The context has not seen the change of the others. It must not show the object with it after the commit.
            recordRewritten(Change(kind: .delete, columns: ColumnSet(), row: change.pointee.row, base: nil))
        case .theirs:
            let kept = Change(kind: .update, columns: ColumnSet(), row: theirs.row, base: nil)
            recordRewritten(kept)
            retained.insert(number)
            return kept
        case .error:
            let stored = base.storeOriginal ?? base.original
            job.conflicts += entity.changedElsewhere(change.pointee.row, columns, base: stored, theirs: theirs.row)
        }
        return nil
    }

    // MARK: Updates

    /// Writes the updates of a part. Rows whose result differs are added to `others`.
    private func update(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>]) throws {
        var statement: UpdateStatement?
        try part.changes.withUnsafeBufferPointer { changes in
            for index in changes.indices {
                let kind = changes[index].kind
                guard kind.isUpdate else { continue }
                if !info.derived.isEmpty {
                    if let other = try updateDerived(changes[index]) { others[other.row._$id] = other }
                } else if kind != .updateOfDeleted, let base = changes[index].base, base.isStored,
                    try write(changes.baseAddress! + index, seen: base.sequence, by: &statement)
                {
                    let columns = changes[index].columns
                    let shown = changes[index].row._$differences(from: base.original).subtracting(columns)
                    if kind == .update, base.storeEqualsOriginal, shown.isEmpty { continue }
                    var row = base.storeOriginal ?? base.original
                    row._$copy(columns, from: changes[index].row)
                    others[row._$id] = Change(kind: .update, columns: columns, row: row, base: nil)
                } else {
                    let merged = try merge(changes[index])
                    others[merged.row._$id] = merged
                }
            }
        }
    }

    /// Writes an update of a row with derived columns. They are derived from the row that will be in the store, which
    /// may differ from the row that a layer shows.
    ///
    /// - Returns: nil if both rows are equal.
    private func updateDerived(_ gathered: Change<Row>) throws -> Change<Row>? {
        var change = gathered
        // The commit of a child has written the derived columns, but not the columns from which they are derived.
        if !change.columns.isEmpty { change.columns.formUnion(info.derived) }
        guard change.kind != .updateOfDeleted, let base = change.base, let stored = base.storeOriginal else {
            return try merge(change)
        }
        var row = stored
        row._$copy(change.columns, from: change.row)
        let written = Change(kind: change.kind, columns: change.columns, row: row, base: base)
        guard try write(written, seen: base.sequence) else { return try merge(change) }
        if change.kind == .update, change.columns == gathered.columns, base.storeEqualsOriginal,
            row._$differences(from: change.row).isEmpty
        {
            return nil
        }
        return Change(kind: .update, columns: change.columns, row: row, base: nil)
    }

    /// Sets columns unless the row is newer than the version that was seen. Returns whether it has written.
    private func write(
        _ change: UnsafePointer<Change<Row>>,
        seen: Int64,
        by cached: inout UpdateStatement?
    ) throws -> Bool {
        let columns = change.pointee.columns
        let statement: Statement
        if let cached, cached.columns == columns {
            statement = cached.statement
        } else {
            statement = try connection.statement(info.sql.update(columns))
            cached = UpdateStatement(columns: columns, statement: statement)
        }
        var binder = statement.binder
        do {
            try Row._$bind(columns, of: Change.rowPointer(change), to: &binder)
        } catch {
            throw bindingError(error, change.pointee.row)
        }
        let position = Int32(columns.count + 1)
        try binder.bind(job.sequence, at: position)
        try binder.bind(Row._$id(Change.rowPointer(change)), at: position + 1)
        try binder.bind(seen, at: position + 2)
        defer { statement.reset() }
        while true {
            let code = sqlite3_step(statement.pointer)
            if code == SQLITE_DONE {
                guard connection.changes > 0 else { return false }
                if !vacated.isEmpty { recordRegularValues(columns, of: Row._$id(Change.rowPointer(change))) }
                return true
            }
            let error = connection.lastError(code)
            sqlite3_reset(statement.pointer)
            guard code & 0xFF == SQLITE_CONSTRAINT, try vacateUniqueValue(change.pointee.row, columns) else {
                throw code & 0xFF == SQLITE_CONSTRAINT ? try constraintError(change.pointee.row, error) : error
            }
        }
    }

    /// Sets columns of one row unless the row is newer than the version that was seen. Returns whether it has written.
    func write(_ change: Change<Row>, seen: Int64) throws -> Bool {
        var statement: UpdateStatement?
        return try withUnsafePointer(to: change) { try write($0, seen: seen, by: &statement) }
    }

    /// Merges a change with the row in the store, column by column, because another writer has changed the row first.
    private func merge(_ change: Change<Row>) throws -> Change<Row> {
        let number = change.row._$id
        guard let theirs = try stored(number) else { return try undelete(change) }
        let base = change.base?.storeOriginal ?? change.base?.original ?? change.row
        let conflicting = change.columns
            .intersection(theirs.row._$differences(from: base))
            .intersection(theirs.row._$differences(from: change.row))
            .subtracting(info.automatic)
        let resolution = entity.resolveConflict(
            conflicting,
            mine: change.row,
            base: base,
            theirs: theirs.row,
            job.policy
        )
        job.conflicts += resolution.conflicts
        let columns = entity.rest(of: change.columns, without: resolution.conflictLosses)
        var merged = theirs.row
        merged._$copy(columns, from: resolution.row)
        let result = Change(kind: .update, columns: columns, row: merged, base: nil)
        // Values that were replaced temporarily are written again, even if others have set them and the policy keeps
        // theirs.
        let written = columns.union(vacated[number]?.columns ?? ColumnSet())
        if !written.isEmpty, job.conflicts.isEmpty {
            // The row combines the changes of two writers, so it was never validated as a whole.
            let failures = withUnsafePointer(to: merged) { entity.check($0, written) }
            guard failures.isEmpty else { throw CommitJob.validationError(failures) }
            let update = Change(kind: .update, columns: written, row: merged, base: nil)
            guard try write(update, seen: theirs.version) else { return try merge(change) }
        }
        recordRewritten(result)
        // Also if others have set the same value: then it is their value, too, and may refer to an object that this
        // commit deletes.
        let theirColumns = change.columns.intersection(theirs.row._$differences(from: base)).union(
            resolution.conflictLosses
        )
        if info.outgoing.contains(where: { theirColumns.contains($0.column) }) {
            retained.insert(number)
        }
        return result
    }

    /// Handles a change whose row was deleted elsewhere: restores the row, drops the change, or notes a conflict.
    private func undelete(_ change: Change<Row>) throws -> Change<Row> {
        switch change.kind == .undelete ? .mine : resolveDeletedElsewhere(change) {
        case .mine:
            let undeleted = Change.insert(change.row)
            try job.externals.write(change.row, info.externals.subtracting(change.columns), info)
            var others: [Int64: Change<Row>] = [:]
            try insert(RowChanges(unsorted: [undeleted]), &others)
            let result = others[change.row._$id] ?? undeleted
            if !info.outgoing.isEmpty { retained.insert(change.row._$id) }
            recordRewritten(result)
            return result
        case .theirs:
            let gone = Change(kind: .delete, columns: ColumnSet(), row: change.row, base: nil)
            recordRewritten(gone)
            deletedElsewhere.insert(change.row._$id)
            return gone
        case .error:
            job.conflicts += entity.deletedElsewhere(change)
            return change
        }
    }

    /// The error for a row that cannot be bound: it names the values that cannot be stored.
    func bindingError(_ error: any Error, _ row: Row) -> any Error {
        if error is StrataError { return error }
        var details: [StrataError.Detail] = []
        withUnsafePointer(to: row) { row in
            for column in info.columns.indices { RowCheck.check(row, column, info, &details) }
        }
        return details.isEmpty ? error : CommitJob.validationError(details)
    }
}
