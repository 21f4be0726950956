extension EntityCommit {
    /// Sets the commit number of inserted rows: the number of this commit, or of the earlier commit that they join. A
    /// row states the earlier number as a negative number.
    ///
    /// This also applies to an update, if a row was committed while its object was about to join: the object did not
    /// know the number yet.
    @inline(never)
    func numberRows(of part: RowChanges<Row>, _ column: Int) throws -> RowChanges<Row> {
        guard part.kinds.contains(.insert) || part.changes(column) else { return part }
        var changes = part.changes
        var places: [Int] = []
        var areNewRows = true
        try changes.withUnsafeMutableBufferPointer { changes in
            for index in changes.indices {
                let kind = changes[index].kind
                guard kind == .insert || kind.isUpdate && changes[index].columns.contains(column) else { continue }
                // A buffer with indices has an address.
                let said = try Row._$value(Change.rowPointer(changes.baseAddress! + index), at: column)
                var number = job.sequence
                if case .integer(let said) = said, said < 0 { number = min(-said, number) }
                try changes[index].row._$set(.integer(number), at: column)
                places.append(index)
                if kind != .insert || changes[index].base != nil || !changes[index].columns.isEmpty {
                    areNewRows = false
                }
            }
        }
        guard !places.isEmpty else { return part }
        let result = RowChanges(ids: part.ids, changes: changes, part.kinds)
        taken = result
        recordNumbered(areNewRows && places.count == changes.count ? result : result.restated(at: places))
        return result
    }

    /// Records rows that the committer shows with their commit number after the commit.
    private func recordNumbered(_ part: RowChanges<Row>) {
        if !rewritten.isEmpty {
            for id in part.ids { rewritten[id] = nil }
        }
        numbered = part
    }
}

extension RowChanges {
    /// The rows at these places, as they are after the commit of this part.
    fileprivate func restated(at places: [Int]) -> RowChanges {
        RowChanges(
            ids: places.map { ids[$0] },
            changes: places.map { place in
                let change = changes[place]
                return change.kind == .insert
                    ? .insert(change.row) : Change(kind: .update, columns: change.columns, row: change.row, base: nil)
            }
        )
    }
}
