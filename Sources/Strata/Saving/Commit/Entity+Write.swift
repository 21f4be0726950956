import CStrataSQLite

extension Entity {
    /// Writes the gathered changes of this entity: deletes, then updates, then inserts. In this order, unique values
    /// are free before they are taken.
    func write(_ job: CommitJob) throws {
        guard var part = job.taken[info.index]?.typed(Row.self) else { return }
        if let column = info.commitNumber { part = try numberRows(of: part, column, job) }
        /// Rows whose result in the store differs from their change.
        var others: [Int64: Change<Row>] = [:]
        if !info.externals.isEmpty {
            for change in part.changes where change.kind != .delete {
                try job.externals.write(change.row, change.kind == .insert ? info.externals : change.columns, info)
            }
        }
        if part.kinds.contains(.delete) {
            try delete(part, &others, job)
        }
        if !part.kinds.isDisjoint(with: .updates) {
            try update(part, &others, job)
        }
        if part.kinds.contains(.insert) {
            try insert(part, &others, job)
        }
        try checkNothingVacated(job)
        guard !others.isEmpty else {
            job.written[info.index] = part
            return
        }
        var outcome = zip(part.ids, part.changes).map { others.removeValue(forKey: $0) ?? $1 }
        // Rows that were not in this part may have absorbed rows of it.
        outcome += others.values
        job.written[info.index] = RowChanges(unsorted: outcome)
    }

    /// The statement that sets certain columns. In most commits, the rows have changed in the same columns.
    private struct UpdateStatement {
        let columns: ColumnSet
        let statement: Statement
    }

    private func vacatedRows(_ job: CommitJob) -> VacatedRows<Row>? {
        job.vacated[info.index].map { unsafeDowncast($0, to: VacatedRows<Row>.self) }
    }

    /// The row in the store with its version.
    ///
    /// If the row's unique value was replaced temporarily, this is the row before.
    func stored(_ number: Int64, _ job: CommitJob) throws -> (row: Row, version: Int64)? {
        if let vacated = vacatedRows(job)?.rows[number] { return (vacated.row, vacated.version) }
        var result: (row: Row, version: Int64)?
        try job.connection.statement(info.sql.selectWithVersion).run([.integer(number)]) { reader in
            result = (try Row(_$from: reader), try reader.read(Int64.self, at: Int32(info.columns.count + 1)))
        }
        return result
    }

    // MARK: Deletes

    /// Deletes the rows that a part deletes. Rows that stay are added to `others`.
    private func delete(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>], _ job: CommitJob) throws {
        let statement = try job.connection.statement(info.sql.deleteUnchanged)
        try part.changes.withUnsafeBufferPointer { changes in
            for index in changes.indices where changes[index].kind == .delete {
                if let other = try delete(changes.baseAddress! + index, by: statement, job) {
                    others[other.row._$id] = other
                }
            }
        }
    }

    private func delete(
        _ change: UnsafePointer<Change<Row>>,
        by statement: Statement,
        _ job: CommitJob
    ) throws -> Change<Row>? {
        let number = change.pointee.row._$id
        guard let base = change.pointee.base else {
            try job.connection.execute(info.sql.delete, [.integer(number)])
            if job.connection.changes == 0 { recordDeletedElsewhere(number, job) }
            return nil
        }
        try statement.binder.bind(number, at: 1)
        try statement.binder.bind(base.sequence, at: 2)
        guard try statement.runBound() == 0 else { return nil }
        guard let theirs = try stored(number, job) else {
            recordDeletedElsewhere(number, job)
            return nil
        }
        let columns = theirs.row._$differences(from: base.storeOriginal ?? base.original).subtracting(info.bookkeeping)
        switch columns.isEmpty ? .mine : resolveConflict(.changedElsewhere, mine: change.pointee.row, job.policy) {
        case .mine:
            try job.connection.execute(info.sql.delete, [.integer(number)])
        case .theirs:
            let kept = Change(kind: .update, columns: ColumnSet(), row: theirs.row, base: nil)
            recordRewritten(kept, job)
            job.retained[info.index, default: []].insert(number)
            return kept
        case .error:
            let stored = base.storeOriginal ?? base.original
            job.conflicts += changedElsewhere(change.pointee.row, columns, base: stored, theirs: theirs.row)
        }
        return nil
    }

    private func recordDeletedElsewhere(_ number: Int64, _ job: CommitJob) {
        job.deletedElsewhere[info.index, default: []].insert(number)
    }

    // MARK: Updates

    /// Writes the updates of a part. Rows whose result differs are added to `others`.
    private func update(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>], _ job: CommitJob) throws {
        var statement: UpdateStatement?
        try part.changes.withUnsafeBufferPointer { changes in
            for index in changes.indices {
                let kind = changes[index].kind
                guard kind.isUpdate else { continue }
                if !info.derived.isEmpty {
                    if let other = try updateDerived(changes[index], job) { others[other.row._$id] = other }
                } else if kind != .updateOfDeleted, let base = changes[index].base, base.isStored,
                    try write(changes.baseAddress! + index, seen: base.sequence, by: &statement, job)
                {
                    let columns = changes[index].columns
                    let shown = changes[index].row._$differences(from: base.original).subtracting(columns)
                    if kind == .update, base.storeEqualsOriginal, shown.isEmpty { continue }
                    var row = base.storeOriginal ?? base.original
                    row._$copy(columns, from: changes[index].row)
                    others[row._$id] = Change(kind: .update, columns: columns, row: row, base: nil)
                } else {
                    let merged = try merge(changes[index], job)
                    others[merged.row._$id] = merged
                }
            }
        }
    }

    /// Writes an update of a row with derived columns. They are derived from the row that will be in the store, which
    /// may differ from the row that a layer shows.
    ///
    /// - Returns: nil if both rows are equal.
    private func updateDerived(_ gathered: Change<Row>, _ job: CommitJob) throws -> Change<Row>? {
        var change = gathered
        // The commit of a child has written the derived columns, but not the columns from which they are derived.
        if !change.columns.isEmpty { change.columns.formUnion(info.derived) }
        guard change.kind != .updateOfDeleted, let base = change.base, let stored = base.storeOriginal else {
            return try merge(change, job)
        }
        var row = stored
        row._$copy(change.columns, from: change.row)
        let written = Change(kind: change.kind, columns: change.columns, row: row, base: base)
        guard try write(written, seen: base.sequence, job) else { return try merge(change, job) }
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
        by cached: inout UpdateStatement?,
        _ job: CommitJob
    ) throws -> Bool {
        let columns = change.pointee.columns
        let statement: Statement
        if let cached, cached.columns == columns {
            statement = cached.statement
        } else {
            statement = try job.connection.statement(info.sql.update(columns))
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
                guard job.connection.changes > 0 else { return false }
                if let vacated = vacatedRows(job) {
                    vacated.recordRegularValues(columns, of: Row._$id(Change.rowPointer(change)))
                }
                return true
            }
            let error = job.connection.lastError(code)
            sqlite3_reset(statement.pointer)
            guard code & 0xFF == SQLITE_CONSTRAINT, try vacateUniqueValue(change.pointee.row, columns, job) else {
                throw code & 0xFF == SQLITE_CONSTRAINT ? try constraintError(change.pointee.row, error, job) : error
            }
        }
    }

    /// Sets columns of one row unless the row is newer than the version that was seen. Returns whether it has written.
    func write(_ change: Change<Row>, seen: Int64, _ job: CommitJob) throws -> Bool {
        var statement: UpdateStatement?
        return try withUnsafePointer(to: change) { try write($0, seen: seen, by: &statement, job) }
    }

    /// Merges a change with the row in the store, column by column, because another writer has changed the row first.
    private func merge(_ change: Change<Row>, _ job: CommitJob) throws -> Change<Row> {
        let number = change.row._$id
        guard let theirs = try stored(number, job) else { return try undelete(change, job) }
        let base = change.base?.storeOriginal ?? change.base?.original ?? change.row
        let conflicting = change.columns
            .intersection(theirs.row._$differences(from: base))
            .intersection(theirs.row._$differences(from: change.row))
            .subtracting(info.automatic)
        let resolution = resolveConflict(conflicting, mine: change.row, base: base, theirs: theirs.row, job.policy)
        job.conflicts += resolution.conflicts
        let columns = rest(of: change.columns, without: resolution.conflictLosses)
        var merged = theirs.row
        merged._$copy(columns, from: resolution.row)
        let result = Change(kind: .update, columns: columns, row: merged, base: nil)
        // Values that were replaced temporarily are written again, even if others have set them and the policy keeps
        // theirs.
        let written = columns.union(vacatedRows(job)?.rows[number]?.columns ?? ColumnSet())
        if !written.isEmpty, job.conflicts.isEmpty {
            // The row combines the changes of two writers, so it was never validated as a whole.
            let failures = withUnsafePointer(to: merged) { check($0, written) }
            guard failures.isEmpty else { throw CommitJob.validationError(failures) }
            let update = Change(kind: .update, columns: written, row: merged, base: nil)
            guard try write(update, seen: theirs.version, job) else { return try merge(change, job) }
        }
        recordRewritten(result, job)
        // Also if others have set the same value: then it is their value, too, and may refer to an object that this
        // commit deletes.
        let theirColumns = change.columns.intersection(theirs.row._$differences(from: base)).union(
            resolution.conflictLosses
        )
        if info.outgoing.contains(where: { theirColumns.contains($0.column) }) {
            job.retained[info.index, default: []].insert(number)
        }
        return result
    }

    /// Handles a change whose row was deleted elsewhere: restores the row, drops the change, or notes a conflict.
    private func undelete(_ change: Change<Row>, _ job: CommitJob) throws -> Change<Row> {
        switch change.kind == .undelete ? .mine : resolveDeletedElsewhere(change, job) {
        case .mine:
            let undeleted = Change.insert(change.row)
            try job.externals.write(change.row, info.externals.subtracting(change.columns), info)
            var others: [Int64: Change<Row>] = [:]
            try insert(RowChanges(unsorted: [undeleted]), &others, job)
            let result = others[change.row._$id] ?? undeleted
            if !info.outgoing.isEmpty { job.retained[info.index, default: []].insert(change.row._$id) }
            recordRewritten(result, job)
            return result
        case .theirs:
            let gone = Change(kind: .delete, columns: ColumnSet(), row: change.row, base: nil)
            recordRewritten(gone, job)
            recordDeletedElsewhere(change.row._$id, job)
            return gone
        case .error:
            job.conflicts += deletedElsewhere(change)
            return change
        }
    }

    // MARK: Inserts

    /// Inserts rows in the order of their ids. Rows whose result differs are added to `others`.
    private func insert(_ part: RowChanges<Row>, _ others: inout [Int64: Change<Row>], _ job: CommitJob) throws {
        let statement = try job.connection.statement(.insert(info))
        var binder = statement.binder
        let version = Int32(info.columns.count + 2)
        try part.changes.withUnsafeBufferPointer { changes in
            // All in one function: the type look-ups at the start of a generic function would cost more than the rest.
            for index in changes.indices where changes[index].kind == .insert {
                do {
                    // A buffer with indices has an address.
                    try Row._$bind(Change.rowPointer(changes.baseAddress! + index), to: &binder)
                } catch {
                    throw bindingError(error, changes[index].row)
                }
                try binder.bind(job.sequence, at: version)
                let code = sqlite3_step(statement.pointer)
                if code != SQLITE_DONE {
                    if let other = try insert(changes[index], after: code, by: statement, &others, job) {
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
        _ others: inout [Int64: Change<Row>],
        _ job: CommitJob
    ) throws -> Change<Row>? {
        var code = code
        var wasThere = false
        while code != SQLITE_DONE {
            let error = job.connection.lastError(code)
            sqlite3_reset(statement.pointer)
            guard code & 0xFF == SQLITE_CONSTRAINT else { throw error }
            if try stored(change.row._$id, job) != nil {
                guard info.commitNumber == nil else { throw CommitJob.notUniqueError([taken(change.row)]) }
                // Ids are never reused. The row was restored here, and the insert replaces it as a whole.
                try job.connection.execute(info.sql.delete, [.integer(change.row._$id)])
                wasThere = true
            } else if info.isJoin, let holder = try holder(of: change.row, info.uniques[0], job) {
                return try join(change, holder, &others, job)
            } else if try !vacateUniqueValue(change.row, info.uniqueColumns, job) {
                throw try constraintError(change.row, error, job)
            }
            // The values are still bound.
            code = sqlite3_step(statement.pointer)
        }
        guard wasThere else { return nil }
        return Change(kind: .update, columns: ColumnSet(first: info.columns.count), row: change.row, base: nil)
    }

    /// The error detail of an id that was handed out beforehand, and under which another object has been inserted.
    private func taken(_ row: Row) -> StrataError.Detail {
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
        _ others: inout [Int64: Change<Row>],
        _ job: CommitJob
    ) throws -> Change<Row>? {
        guard let theirs = try stored(holder, job) else { return nil }
        var row = theirs.row
        var columns = change.row._$differences(from: row)
        let known = job.taken[info.index]?.typed(Row.self)[holder]
        let isShown = holder > change.row._$id && known != nil
        if job.policy == .theirs || isShown { columns = ColumnSet() }
        row._$copy(columns, from: change.row)
        let merged = Change(kind: .update, columns: columns, row: row, base: nil)
        if !columns.isEmpty { _ = try write(merged, seen: theirs.version, job) }
        // Earlier writes of this commit to the row remain valid.
        let isNew = known?.kind == .insert
        let written = columns.union(known?.columns ?? ColumnSet())
        others[holder] = Change(kind: isNew ? .insert : .update, columns: written, row: row, base: nil)
        job.merged[info.index, default: [:]][change.row._$id] = holder
        let gone = Change(kind: .delete, columns: ColumnSet(), row: change.row, base: nil)
        recordRewritten(gone, job)
        return gone
    }

    // MARK: Unique values

    /// The row that already has the values which this row needs.
    func holder(of row: Row, _ columns: [Int], _ job: CommitJob) throws -> Int64? {
        let values = try columns.map { try row._$value(at: $0) }
        guard !values.contains(.null) else { return nil }
        let holder = try job.connection.integer(info.sql.selectHolder(columns), values)
        return holder == row._$id ? nil : holder
    }

    /// Frees a unique value whose holder gets another one in this same commit. The holder gets a temporary value that
    /// no other row can have. Returns whether there was such a holder.
    private func vacateUniqueValue(_ row: Row, _ columns: ColumnSet, _ job: CommitJob) throws -> Bool {
        for unique in info.uniques where unique.contains(where: columns.contains) {
            guard let holder = try holder(of: row, unique, job),
                let change = job.taken[info.index]?.typed(Row.self)[holder], change.kind == .update,
                let column = unique.first(where: change.columns.contains),
                try !unique.allSatisfy({ try change.row._$value(at: $0) == row._$value(at: $0) })
            else { continue }
            guard let before = try stored(holder, job) else { continue }
            let vacated = vacatedRows(job) ?? VacatedRows<Row>()
            job.vacated[info.index] = vacated
            vacated.rows[holder, default: (before.row, before.version, ColumnSet())].columns.insert(column)
            let placeholder = StoredValue.text("\u{0}strata parking \(holder)")
            try job.connection.execute(
                "UPDATE \(info.sql.table) SET \(info.sql.columns[column]) = ? WHERE \"id\" = ?",
                [placeholder, .integer(holder)]
            )
            return true
        }
        return false
    }

    /// Checks that all rows with a temporary value have received another value.
    ///
    /// The exception is a row that the merge policy has left to others. It keeps their value, and the row that needs
    /// this value is refused.
    private func checkNothingVacated(_ job: CommitJob) throws {
        guard let rows = vacatedRows(job)?.rows, let first = rows.min(by: { $0.key < $1.key }) else { return }
        throw try constraintError(first.value.row, CommitJob.notUniqueError([]), job)
    }

    /// The error for unique values that are taken, with details of all such values of this commit.
    private func constraintError(_ row: Row, _ error: StrataError, _ job: CommitJob) throws -> StrataError {
        guard let part = job.taken[info.index]?.typed(Row.self) else { return error }
        let rows = PendingRows([part])
        var details: [StrataError.Detail] = []
        for unique in info.uniques {
            for place in rows.visible {
                let change = part.changes[Int(place.index)]
                guard change.sets(unique) else { continue }
                let key = try unique.map { try change.row._$value(at: $0) }
                if key.contains(.null) { continue }
                let other = try rows.rival(of: place, with: key, in: unique) { part[$0]?.sets(unique) ?? false }
                if let other {
                    details.append(duplicate(change.row, of: other, in: unique))
                } else if let holder = try holder(of: change.row, unique, job), !rows.isHidden(holder) {
                    details.append(naming(holder, duplicate(change.row, of: holder, in: unique), job))
                }
            }
        }
        // The row's result differs from its change: it was merged, or restored.
        for unique in info.uniques where details.isEmpty {
            if let holder = try holder(of: row, unique, job) {
                details.append(naming(holder, duplicate(row, of: holder, in: unique), job))
            }
        }
        if details.isEmpty { return error }
        return CommitJob.notUniqueError(details, underlying: error)
    }

    /// Adds to the message which context has changed the holder of a value.
    private func naming(_ holder: Int64, _ detail: StrataError.Detail, _ job: CommitJob) -> StrataError.Detail {
        let context = job.foreignPath.last { context in
            job.layers.top(holder, entity: info.index, in: [context], Row.self) != nil
        }
        guard let context else { return detail }
        return detail.saying("\(detail.message), which \(job.names(context)) has changed or deleted without saving")
    }

    /// The error for a row that cannot be bound: it names the values that cannot be stored.
    private func bindingError(_ error: any Error, _ row: Row) -> any Error {
        if error is StrataError { return error }
        var details: [StrataError.Detail] = []
        withUnsafePointer(to: row) { row in
            for column in info.columns.indices { RowCheck.check(row, column, info, &details) }
        }
        return details.isEmpty ? error : CommitJob.validationError(details)
    }
}

extension StrataError.Detail {
    /// This detail with another message.
    func saying(_ message: String) -> StrataError.Detail {
        StrataError.Detail(
            model: model,
            id: id,
            column: column,
            message: message,
            base: base,
            mine: mine,
            theirs: theirs
        )
    }
}

/// Rows that have a temporary value instead of a unique one, in their earlier state. Stored by the index of the entity.
final class VacatedRows<Row: StoredRow> {
    var rows: [Int64: (row: Row, version: Int64, columns: ColumnSet)] = [:]

    /// Notes that a row has regular values in these columns again.
    func recordRegularValues(_ columns: ColumnSet, of number: Int64) {
        guard let left = rows[number]?.columns.subtracting(columns) else { return }
        if left.isEmpty { rows[number] = nil } else { rows[number]?.columns = left }
    }
}
