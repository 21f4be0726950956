/// Columns of a layer that were reset to their earlier values, and their rows.
struct NoOpChanges {
    let edits: any LayerEdits
    /// The layer's changes of these rows.
    let rows: any AnyRowChanges
}

extension Entity {
    /// Finds columns that show again the value that the layer's lowest change of them has seen. Such a column is
    /// unchanged.
    ///
    /// Edits of different provenance stay as they are, since each may be committed separately.
    ///
    /// - Parameter fixed: segments that must not change.
    /// - Complexity: O(changed rows).
    func noOpChanges(in level: [ChangeSegment], fixed: Set<Int>) -> NoOpChanges? {
        // The positions of members are not compared column by column.
        guard !info.isJoin else { return nil }
        // This function runs before every commit, usually for few rows. It allocates nothing if there are no
        // candidates.
        let candidates = candidates(in: level)
        if candidates.isEmpty { return nil }
        let parts = level.enumerated().compactMap { position, segment in
            segment.parts[info.index].map { (position, $0.typed(Row.self)) }
        }
        var edits = EntityEdits<Row>()
        var rows: [Change<Row>] = []
        for id in candidates {
            let stack = parts.compactMap { position, part in part[id].map { (position, $0) } }
            guard stack.allSatisfy({ $0.1.kind.isPlainUpdate && !fixed.contains(level[$0.0].id) }) else { continue }
            let (noOps, seen) = noOpColumns(by: stack.map { $0.1 }, of: stack.map { level[$0.0].provenance })
            // A change without columns once restored its row, which now exists without it.
            if noOps.isEmpty, stack.allSatisfy({ !$0.1.columns.isEmpty }) { continue }
            rows.append(stack[stack.count - 1].1)
            for (position, change) in stack {
                var rest = change
                rest.columns = self.rest(of: change.columns, without: noOps)
                // If the row is gone below, it must not be recreated with values that were reset.
                rest.row._$copy(noOps, from: seen)
                edits.changes[position, default: [:]][id] = .some(rest.columns.isEmpty ? nil : rest)
            }
        }
        return rows.isEmpty ? nil : NoOpChanges(edits: edits, rows: RowChanges(unsorted: rows))
    }

    /// The rows that may have reset columns, ascending: rows with several changes, or with one that shows a value it
    /// has seen.
    private func candidates(in level: [ChangeSegment]) -> [Int64] {
        var candidates: [Int64] = []
        var first: RowChanges<Row>?
        var seen: Set<Int64> = []
        for segment in level {
            guard let part = segment.parts[info.index]?.typed(Row.self), !part.kinds.isDisjoint(with: .updates) else {
                continue
            }
            if let first {
                if seen.isEmpty { seen.formUnion(first.ids) }
                for id in part.ids where !seen.insert(id).inserted { candidates.append(id) }
            } else {
                first = part
            }
            part.changes.withUnsafeBufferPointer { changes in
                for index in changes.indices where changes[index].kind.isPlainUpdate {
                    guard let base = changes[index].base else { continue }
                    let columns = changes[index].columns.subtracting(info.automatic)
                    let noOps = columns.subtracting(changes[index].row._$differences(from: base.original))
                    if changes[index].columns.isEmpty || !noOps.isEmpty {
                        candidates.append(part.ids[index])
                    }
                }
            }
        }
        return candidates.count > 1 ? Set(candidates).sorted() : candidates
    }

    /// The columns that a row's changes in one layer, oldest first, have reset together, and a row with the values that
    /// were seen in them.
    private func noOpColumns(
        by stack: [Change<Row>],
        of provenance: [Provenance]
    ) -> (columns: ColumnSet, seen: Row) {
        var noOps = ColumnSet()
        var seen = stack[0].row
        var last = stack[0].row
        var owner: [Int: Provenance] = [:]
        var shared = ColumnSet()
        for (change, provenance) in zip(stack, provenance) {
            guard let base = change.base else { return (ColumnSet(), seen) }
            for column in change.columns {
                if let known = owner[column] {
                    if known != provenance { shared.insert(column) }
                } else {
                    owner[column] = provenance
                    seen._$copy(ColumnSet(column), from: base.original)
                    noOps.insert(column)
                }
            }
            last._$copy(change.columns, from: change.row)
        }
        noOps = noOps.subtracting(shared).subtracting(info.automatic).subtracting(last._$differences(from: seen))
        return (noOps, seen)
    }
}

extension ChangeKind {
    /// Whether the change sets single columns without a decision about the row, which may be gone below.
    fileprivate var isPlainUpdate: Bool { self == .update || self == .updateOfDeleted }
}

extension LayerRegistry {
    /// Whether a layer has columns that were reset, see ``dropNoOpChanges(of:_:_:)``.
    func hasNoOpChanges(in context: Int, _ schema: Schema) -> Bool {
        let (level, fixed) = state.withLock { ($0.layers[context], $0.taken) }
        return level.updated.contains { schema.entities[$0].noOpChanges(in: level, fixed: fixed) != nil }
    }

    /// Removes reset columns from a layer, and rebases all layers above it. Returns whether there were any; nil if the
    /// reading is too old.
    func dropNoOpChanges(of context: Int, _ schema: Schema, _ reading: LayerReading) throws -> Bool? {
        try rebasing(onto: reading, schema, by: context) { state in
            var level = state.layers[context]
            var rows: [Int: any AnyRowChanges] = [:]
            for entity in level.updated {
                guard let noOps = schema.entities[entity].noOpChanges(in: level, fixed: state.taken) else { continue }
                noOps.edits.apply(to: &level, entity: entity)
                rows[entity] = noOps.rows
            }
            guard !rows.isEmpty else { return false }
            state.layers[context] = level.filter { !$0.parts.isEmpty }
            let contexts = [context] + state.layers.descendants(of: context)
            state.layers.rebaseAll(rows, in: contexts, schema, reading: reading.connection)
            state.log.record(.layer(context), rows)
            return true
        }
    }
}

extension [ChangeSegment] {
    /// The entities that have updates.
    fileprivate var updated: Set<Int> {
        var updated: Set<Int> = []
        for segment in self {
            for (entity, part) in segment.parts where !part.kinds.isDisjoint(with: .updates) { updated.insert(entity) }
        }
        return updated
    }
}
