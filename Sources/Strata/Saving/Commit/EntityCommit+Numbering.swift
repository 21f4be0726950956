extension EntityCommit {
    /// Sets the commit number of inserted rows: the number of this commit, or of the earlier commit that they join. A
    /// row states the earlier number as a negative number.
    ///
    /// This also applies to an update, if a row was committed while its object was about to join: the object did not
    /// know the number yet.
    @inline(never)
    func numberRows(of part: RowChanges<Row>, _ column: Int) throws -> RowChanges<Row> {
        func isNumbered(_ change: Change<Row>) -> Bool {
            change.kind == .insert || change.kind.isUpdate && change.columns.contains(column)
        }
        guard part.changes.contains(where: isNumbered) else { return part }
        var numbered: [Change<Row>] = []
        let changes = try part.changes.map { change in
            guard isNumbered(change) else { return change }
            var change = change
            var number = job.sequence
            if case .integer(let said) = try change.row._$value(at: column), said < 0 { number = min(-said, number) }
            try change.row._$set(.integer(number), at: column)
            numbered.append(
                change.kind == .insert
                    ? .insert(change.row) : Change(kind: .update, columns: change.columns, row: change.row, base: nil)
            )
            return change
        }
        let result = RowChanges(ids: part.ids, changes: changes)
        taken = result
        recordRewritten(RowChanges(unsorted: numbered))
        return result
    }
}
