extension EntityCommit {
    /// The row that already has the values which this row needs.
    func holder(of row: Row, _ columns: [Int]) throws -> Int64? {
        let values = try columns.map { try row._$value(at: $0) }
        guard !values.contains(.null) else { return nil }
        let holder = try connection.integer(info.sql.selectHolder(columns), values)
        return holder == row._$id ? nil : holder
    }

    /// Frees a unique value whose holder gets another one in this same commit. The holder gets a temporary value that
    /// no other row can have. Returns whether there was such a holder.
    func vacateUniqueValue(_ row: Row, _ columns: ColumnSet) throws -> Bool {
        for unique in info.uniques where unique.contains(where: columns.contains) {
            guard let holder = try holder(of: row, unique),
                let change = taken?[holder], change.kind == .update,
                let column = unique.first(where: change.columns.contains),
                try !unique.allSatisfy({ try change.row._$value(at: $0) == row._$value(at: $0) })
            else { continue }
            guard let before = try stored(holder) else { continue }
            var left = vacated[holder] ?? VacatedRow(row: before.row, version: before.version, columns: ColumnSet())
            left.columns.insert(column)
            vacated[holder] = left
            let placeholder = StoredValue.text("\u{0}strata parking \(holder)")
            try connection.execute(
                "UPDATE \(info.sql.table) SET \(info.sql.columns[column]) = ? WHERE \"id\" = ?",
                [placeholder, .integer(holder)]
            )
            return true
        }
        return false
    }

    /// Notes that a row has regular values in these columns again.
    func recordRegularValues(_ columns: ColumnSet, of number: Int64) {
        guard let left = vacated[number]?.columns.subtracting(columns) else { return }
        if left.isEmpty { vacated[number] = nil } else { vacated[number]?.columns = left }
    }

    /// Checks that all rows with a temporary value have received another value.
    ///
    /// The exception is a row that the merge policy has left to others. It keeps their value, and the row that needs
    /// this value is refused.
    func checkNothingVacated() throws {
        guard let first = vacated.min(by: { $0.key < $1.key }) else { return }
        throw try constraintError(first.value.row, CommitJob.notUniqueError([]))
    }

    /// The error for unique values that are taken, with details of all such values of this commit.
    func constraintError(_ row: Row, _ error: StrataError) throws -> StrataError {
        guard let part = taken else { return error }
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
                    details.append(entity.duplicate(change.row, of: other, in: unique))
                } else if let holder = try holder(of: change.row, unique), !rows.isHidden(holder) {
                    details.append(naming(holder, entity.duplicate(change.row, of: holder, in: unique)))
                }
            }
        }
        // The row's result differs from its change: it was merged, or restored.
        for unique in info.uniques where details.isEmpty {
            if let holder = try holder(of: row, unique) {
                details.append(naming(holder, entity.duplicate(row, of: holder, in: unique)))
            }
        }
        if details.isEmpty { return error }
        return CommitJob.notUniqueError(details, underlying: error)
    }

    /// Adds to the message which context has changed the holder of a value.
    private func naming(_ holder: Int64, _ detail: StrataError.Detail) -> StrataError.Detail {
        let context = job.foreignPath.last { context in
            job.layers.top(holder, entity: info.index, in: [context], Row.self) != nil
        }
        guard let context else { return detail }
        return detail.saying(
            "\(detail.message), which \(job.commit.names(context)) has changed or deleted without saving"
        )
    }
}
