/// Finds the bases of changes to one entity's rows, given the layers that a context sees.
struct BaseFinder<Row: StoredRow> {
    /// Oldest first.
    private let parts: [RowChanges<Row>]
    private let sequence: Int64

    init(parts: [any AnyRowChanges], sequence: Int64) {
        self.parts = parts.map { $0.typed(Row.self) }
        self.sequence = sequence
    }

    /// Whether no layer has changed rows of the entity, so that the store's rows are the current ones.
    var isEmpty: Bool { parts.isEmpty }

    /// Complexity: O(layers · log changes).
    func base(of before: Row) -> Base<Row> {
        if parts.isEmpty { return Base(inStore: before, sequence: sequence) }
        var stored: Row?
        var sequence = sequence
        var known = ColumnSet()
        for part in parts {
            guard let change = part[before._$id] else { continue }
            if change.kind == .insert { return Base(original: before, storeOriginal: nil, sequence: sequence) }
            guard let base = change.base else { continue }
            // If an older change was made before the row was in the store, its base contains only the version that it
            // saw. That version then replaces the stored one.
            if stored == nil { stored = before }
            // The base of a delete contains all columns of the stored row. This matters for a row that was restored
            // over the delete.
            let columns = change.kind == .delete ? ColumnSet(first: ColumnSet.limit) : change.columns
            stored?._$copy(columns.subtracting(known), from: base.storeOriginal ?? base.original)
            known.formUnion(columns)
            sequence = min(sequence, base.sequence)
        }
        guard let stored else { return Base(inStore: before, sequence: sequence) }
        return Base(original: before, storeOriginal: stored, sequence: sequence)
    }
}
