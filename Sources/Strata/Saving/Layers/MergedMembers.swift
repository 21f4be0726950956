// Two contexts that do not see each other may add the same member. Each addition is a row. The commit of the second one
// merges both into the row that is already in the store.

/// The row that represents a member after a commit has merged two additions of it.
struct MergedMember: Sendable {
    /// The row as the commit has left it in the store.
    let row: JoinRow
    /// The number of the commit.
    let sequence: Int64
}

extension EntityResult {
    /// The merged members, by the row that is gone.
    func mergedMembers(_ sequence: Int64) -> [Int64: MergedMember] {
        guard !merged.isEmpty, let rows = rows?.typed(JoinRow.self) else { return [:] }
        return merged.compactMapValues { id in rows[id].map { MergedMember(row: $0.row, sequence: sequence) } }
    }
}

extension LayerRegistry.State {
    /// Notes the members that a commit merges, for the contexts that show the rows that are gone. Called before the
    /// commit is applied to the layers.
    mutating func noteMergedMembers(of record: CommitRecord) {
        for result in record.results where !result.merged.isEmpty {
            let members = result.mergedMembers(record.sequence)
            // A context with a snapshot has a position in the log.
            for context in log.cursors.keys where layers.contexts.contains(context) {
                let path = layers.readPath(to: context)
                let shown = members.filter { id, _ in layers.topKind(of: id, entity: result.entity, in: path) != nil }
                if shown.isEmpty { continue }
                mergedMembers[context, default: [:]][result.entity, default: [:]].merge(shown) { $1 }
            }
        }
    }

    /// Changes that a context publishes, with those of merged members applied to the rows that represent the members
    /// now. The context still shows the rows that are gone.
    func movingMergedMembers(_ parts: [Int: any AnyRowChanges], of context: Int) -> [Int: any AnyRowChanges] {
        guard let merged = mergedMembers[context] else { return parts }
        return parts.moved(onto: merged)
    }

    /// Deletes that return to a context's layer, with those of merged members applied to the rows that represent the
    /// members now.
    func movingMergedMembers(_ deletes: [CancelledDeletes], of context: Int) -> [CancelledDeletes] {
        guard let merged = mergedMembers[context] else { return deletes }
        return deletes.map { $0.moved(onto: merged) }
    }
}

extension [Int: any AnyRowChanges] {
    /// These changes, by entity, with those of merged members applied to the rows that represent the members now.
    fileprivate func moved(onto merged: [Int: [Int64: MergedMember]]) -> Self {
        var parts = self
        for (entity, members) in merged {
            if let moved = parts[entity]?.typed(JoinRow.self).moved(onto: members) { parts[entity] = moved }
        }
        return parts
    }
}

extension CancelledDeletes {
    /// These deletes, with those of merged members applied to the rows that represent the members now.
    func moved(onto merged: [Int: [Int64: MergedMember]]) -> CancelledDeletes {
        var deletes = self
        deletes.segment.parts = segment.parts.moved(onto: merged)
        return deletes
    }
}

extension LayerSnapshot {
    /// Redirects changes of members that existed already to the rows that represent them.
    ///
    /// - Parameter merged: the members, by the row that is gone.
    mutating func moveMembers(_ merged: [Int64: MergedMember], entity: Int) {
        for (context, level) in levels {
            let moved = level.map { $0.parts[entity]?.typed(JoinRow.self).moved(onto: merged) }
            guard moved.contains(where: { $0 != nil }) else { continue }
            self[context] = zip(level, moved).map { segment, part in
                var segment = segment
                if let part { segment.parts[entity] = part }
                return segment
            }
        }
    }

    /// Moves changes of merged members in a context's layer back to the rows that were merged, for a pinned snapshot
    /// from before the commit. Such a snapshot still shows these rows.
    ///
    /// - Parameters:
    ///   - merged: by entity, the members by the row that is gone.
    ///   - shown: the layers as the context has shown them until now.
    mutating func showMergedMembers(
        _ merged: [Int: [Int64: MergedMember]],
        in context: Int,
        shownIn shown: LayerSnapshot
    ) {
        let beneath = Array(shown.readPath(to: context).dropLast())
        for (entity, members) in merged {
            /// The rows that the snapshot still shows, by the row that represents the member now.
            var former: [Int64: [JoinRow]] = [:]
            for (id, member) in members {
                let row: JoinRow? = shown.visibleRow(id, entity: entity, in: beneath)
                if let row { former[member.row._$id, default: []].append(row) }
            }
            if former.isEmpty { continue }
            let known = Set(shown.parts(of: entity, in: [context]).flatMap { $0.ids })
            self[context] = self[context].map { segment in
                guard let part = segment.parts[entity]?.typed(JoinRow.self) else { return segment }
                var changes: [Change<JoinRow>] = []
                for change in part.changes {
                    let rows = former[change.row._$id] ?? []
                    changes += rows.map { change.moved(onto: $0, sequence: change.base?.sequence ?? 0) }
                    // If both rows represented the member, the context may have changed both of them.
                    if rows.isEmpty || known.contains(change.row._$id) { changes.append(change) }
                }
                var result = segment
                result.parts[entity] = RowChanges(unsorted: changes)
                return result
            }
        }
    }
}

extension RowChanges<JoinRow> {
    /// These changes, with those of merged members applied to the rows that represent the members now; nil without
    /// changes of merged members.
    fileprivate func moved(onto merged: [Int64: MergedMember]) -> RowChanges<JoinRow>? {
        guard merged.keys.contains(where: { index(of: $0) != nil }) else { return nil }
        let moved = changes.map { change in
            merged[change.row._$id].map { change.moved(onto: $0.row, sequence: $0.sequence) } ?? change
        }
        return RowChanges<JoinRow>(unsorted: moved)
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
        // An undelete may lie above a delete in the same layer.
        if kind == .undelete {
            return Change(kind: .undelete, columns: columns, row: changed, base: base.over(.gone))
        }
        return Change(kind: .update, columns: columns, row: changed, base: base, wasUndelete: wasUndelete)
    }
}
