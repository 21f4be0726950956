import CStrataSQLite

extension EntityCommit {
    /// Inserts rows in the order of their ids. Rows whose result differs are added to `others`.
    func insert(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>]) throws {
        let statement = try connection.statement(.insert(info))
        var binder = statement.binder
        let version = Int32(info.columns.count + 2)
        let sequence = job.sequence
        try part.changes.withUnsafeBufferPointer { changes in
            // All in one function: the type look-ups at the start of a generic function would cost more than the rest.
            for index in changes.indices where changes[index].kind == .insert {
                do {
                    // A buffer with indices has an address.
                    try Row._$bind(Change.rowPointer(changes.baseAddress! + index), to: &binder)
                } catch {
                    throw bindingError(error, changes[index].row)
                }
                try binder.bind(sequence, at: version)
                let code = sqlite3_step(statement.pointer)
                if code != SQLITE_DONE {
                    if let other = try insert(changes[index], after: code, by: statement, &others) {
                        others[changes[index].row._$id] = other
                    }
                }
                statement.reset()
            }
        }
    }

    /// Repeats an insert after removing the obstacle. Returns nil if the row was inserted unchanged.
    private func insert(
        _ change: Change<Row>,
        after code: Int32,
        by statement: Statement,
        _ others: inout [Int64: Change<Row>]
    ) throws -> Change<Row>? {
        var code = code
        var wasThere = false
        while code != SQLITE_DONE {
            let error = connection.lastError(code)
            sqlite3_reset(statement.pointer)
            guard code & 0xFF == SQLITE_CONSTRAINT else { throw error }
            if try stored(change.row._$id) != nil {
                guard info.commitNumber == nil else { throw CommitJob.notUniqueError([usedID(of: change.row)]) }
                // Ids are never reused. The row was restored here, and the insert replaces it as a whole.
                try connection.execute(info.sql.delete, [.integer(change.row._$id)])
                wasThere = true
            } else if info.isJoin, let holder = try holder(of: change.row, info.uniques[0]) {
                return try join(change, holder, &others)
            } else if try !vacateUniqueValue(change.row, info.uniqueColumns) {
                throw try constraintError(change.row, error)
            }
            // The values are still bound.
            code = sqlite3_step(statement.pointer)
        }
        guard wasThere else { return nil }
        return Change(kind: .update, columns: ColumnSet(first: info.columns.count), row: change.row, base: nil)
    }

    /// The error detail of an id that was handed out beforehand, and under which another object has been inserted.
    private func usedID(of row: Row) -> StrataError.Detail {
        StrataError.Detail(model: info.name, id: row._$id, column: "id", message: "already exists")
    }

    /// Merges two additions of the same member into one row, the row that was there first.
    ///
    /// The row takes the position of this addition, with two exceptions. First, this commit also writes the existing
    /// row, and that row was made later. Second, the policy keeps the values of others. The queries of this context
    /// have already shown the same result (see ``Overlay/row(ofPair:_:entity:)``).
    private func join(
        _ change: Change<Row>,
        _ holder: Int64,
        _ others: inout [Int64: Change<Row>]
    ) throws -> Change<Row>? {
        guard let theirs = try stored(holder) else { return nil }
        var row = theirs.row
        var columns = change.row._$differences(from: row)
        let known = taken?[holder]
        let isShown = holder > change.row._$id && known != nil
        if job.policy == .theirs || isShown { columns = ColumnSet() }
        row._$copy(columns, from: change.row)
        let update = Change(kind: .update, columns: columns, row: row, base: nil)
        if !columns.isEmpty { _ = try write(update, seen: theirs.version) }
        // Earlier writes of this commit to the row remain valid.
        let isNew = known?.kind == .insert
        let written = columns.union(known?.columns ?? ColumnSet())
        others[holder] = Change(kind: isNew ? .insert : .update, columns: written, row: row, base: nil)
        merged[change.row._$id] = holder
        let gone = Change(kind: .delete, columns: ColumnSet(), row: change.row, base: nil)
        recordRewritten(gone)
        return gone
    }
}
