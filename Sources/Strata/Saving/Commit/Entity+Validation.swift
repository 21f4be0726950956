extension Entity {
    /// Validates the rows that result from these changes. The newest change of each row counts.
    func validate(_ parts: [any AnyRowChanges], _ failures: inout [StrataError.Detail]) {
        var seen: Set<Int64> = []
        let parts = parts.map { $0.typed(Row.self) }
        for part in parts.reversed() {
            part.changes.withUnsafeBufferPointer { changes in
                for index in changes.indices {
                    if parts.count > 1, !seen.insert(changes[index].row._$id).inserted { continue }
                    guard changes[index].kind.isVisible else { continue }
                    // A buffer with indices has an address.
                    let edited =
                        parts.count > 1
                        ? edited(changes[index].row._$id, in: parts)
                        : changes[index].kind == .update ? changes[index].columns : nil
                    let found = check(Change.rowPointer(changes.baseAddress! + index), edited)
                    if !found.isEmpty { failures += found }
                }
            }
        }
    }

    /// The columns of a row that these changes set; nil if they contain the whole row.
    private func edited(_ id: Int64, in parts: [RowChanges<Row>]) -> ColumnSet? {
        var columns = ColumnSet()
        for part in parts {
            guard let index = part.index(of: id) else { continue }
            guard part.changes[index].kind == .update else { return nil }
            columns.formUnion(part.changes[index].columns)
        }
        return columns
    }
}
