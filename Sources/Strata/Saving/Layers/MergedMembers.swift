// Two contexts that do not see each other may add the same member. Each addition is a row. The commit of the second one
// merges both into the row that is already in the store.

extension LayerSnapshot {
    /// Redirects changes of members that existed already to the rows that represent them.
    ///
    /// - Parameters:
    ///   - ids: the merged rows, and the rows that represent them now.
    ///   - rows: the rows that represent the members, as they are in the store.
    mutating func moveMembers(
        _ ids: [Int64: Int64],
        onto rows: RowChanges<JoinRow>,
        entity: Int,
        sequence: Int64
    ) {
        for (context, level) in levels {
            let merged = ids.filter { id, _ in level.contains { $0.parts[entity]?.index(of: id) != nil } }
            if merged.isEmpty { continue }
            self[context] = level.map { segment in
                guard let part = segment.parts[entity]?.typed(JoinRow.self) else { return segment }
                let changes = part.changes.map { change in
                    guard let id = merged[change.row._$id], let row = rows[id]?.row else { return change }
                    return change.moved(onto: row, sequence: sequence)
                }
                var moved = segment
                moved.parts[entity] = RowChanges(unsorted: changes)
                return moved
            }
            noteMergedMembers(merged, entity: entity, in: context)
        }
    }

    /// Moves changes of merged members in a context's layer back to the rows that were merged, for a pinned snapshot
    /// from before the commit. Such a snapshot still shows these rows.
    ///
    /// - Parameters:
    ///   - merged: by entity, the merged rows and the rows that represent them now.
    ///   - shown: the layers as the context has shown them until now.
    mutating func showMergedMembers(_ merged: [Int: [Int64: Int64]], in context: Int, shownIn shown: LayerSnapshot) {
        let beneath = Array(shown.readPath(to: context).dropLast())
        for (entity, ids) in merged {
            /// The rows that the snapshot still shows, by the row that represents the member now.
            var former: [Int64: [JoinRow]] = [:]
            for (id, other) in ids {
                let row: JoinRow? = shown.visibleRow(id, entity: entity, in: beneath)
                if let row { former[other, default: []].append(row) }
            }
            if former.isEmpty { continue }
            let known = Set(shown.parts(of: entity, in: [context]).flatMap { $0.ids })
            self[context] = self[context].map { segment in
                guard let part = segment.parts[entity]?.typed(JoinRow.self) else { return segment }
                var moved: [Change<JoinRow>] = []
                var others: [Change<JoinRow>] = []
                for change in part.changes {
                    let rows = former[change.row._$id] ?? []
                    moved += rows.map { change.moved(onto: $0, sequence: change.base?.sequence ?? 0) }
                    // If both rows represented the member, the context may have changed both of them.
                    if rows.isEmpty || known.contains(change.row._$id) { others.append(change) }
                }
                var result = segment
                // Changes that the context has made to a merged row since the commit are the newer ones.
                result.parts[entity] = RowChanges(unsorted: moved + others)
                return result
            }
        }
    }
}

extension Change<JoinRow> {
    /// This change, applied to another row that represents the same member.
    fileprivate func moved(onto row: JoinRow, sequence: Int64) -> Change {
        let base = Base(inStore: row, sequence: sequence)
        if kind == .delete || kind == .cancelledInsert {
            return Change(kind: .delete, columns: ColumnSet(), row: row, base: base)
        }
        var changed = row
        changed._$copy(columns, from: self.row)
        return Change(kind: .update, columns: columns, row: changed, base: base)
    }
}
