extension Part {
    /// Takes out of the parents' layers what the committed changes have overwritten (H20).
    ///
    /// That is what lies beneath one of them in the same layer, and what one of them further up has seen and the parent
    /// still shows. Everything else that parents have set stays on top, with its old base (C16).
    ///
    /// - Parameter before: the layers with the segments that were committed.
    func leaveBehind(
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: Layers,
        in layers: inout Layers
    ) {
        let foreign = path.filter { !record.included.contains($0) && before.levels[$0] != nil }
        guard !foreign.isEmpty else { return }
        var numbers: Set<Int64> = []
        for context in foreign { numbers.formUnion(touched(in: before, context: context, entity: entity)) }
        var edits: [Int: [Int: [Int64: Change<Row>?]]] = [:]
        for number in numbers {
            guard let committed = self[number] else { continue }
            let fate = Fate(
                committed,
                taken: record.taken[entity]?.typed(Row.self)[number],
                sequence: record.sequence,
                wentAlong: record.wentAlong[entity]?.contains(number) ?? false
            )
            let isWithdrawn =
                fate.isRemoved
                && foreign.contains { context in
                    before.stack(number, entity: entity, in: context, Row.self).contains {
                        $0.change.kind == .insert && !record.segments.contains(before[context][$0.segment].id)
                    }
                }
            var above = Above<Row>()
            for context in path.reversed() {
                let stack = before.stack(number, entity: entity, in: context, Row.self)
                guard let shown = stack.last?.change.row else { continue }
                var takenHere = ColumnSet()
                /// What later changes of this layer set; an insert beneath them does not show it.
                var later = ColumnSet()
                for (index, entry) in stack.enumerated().reversed() {
                    let segment = before[context][entry.segment].id
                    if record.segments.contains(segment) {
                        takenHere.formUnion(entry.change.touchedColumns)
                        if entry.change.kind == .insert { above.isReplaced = true }
                    } else if !record.included.contains(context) {
                        let isOwn = record.committer.map { entry.carriers.contains($0) } ?? false
                        let rest =
                            isWithdrawn
                            ? nil
                            : fate.rest(of: entry.change, shown: shown, above, takenHere, later: later, isOwn: isOwn)
                                .map { kept in
                                    // What lies on an earlier edit of the same column goes on standing on that.
                                    var lower = ColumnSet()
                                    for below in stack[..<index] where below.change.kind == .update {
                                        guard !record.segments.contains(before[context][below.segment].id) else {
                                            continue
                                        }
                                        lower.formUnion(below.change.columns)
                                    }
                                    return fate.isNew ? kept.standing(on: lower, of: entry.change) : kept
                                }
                        edits[context, default: [:]][segment, default: [:]][number] = .some(rest)
                    }
                    later.formUnion(entry.change.touchedColumns)
                }
                above.pass(stack.map(\.change), taken: takenHere)
            }
        }
        for (context, edits) in edits {
            var byPosition: [Int: [Int64: Change<Row>?]] = [:]
            for (position, segment) in layers[context].enumerated() { byPosition[position] = edits[segment.id] }
            layers.edit(context, entity: entity, byPosition)
        }
    }
}

/// What the changes above a layer have seen in it, as far as they are committed or stand under committed ones.
private struct Above<Row: StoredRow> {
    var seen: Row?
    var columns = ColumnSet()
    /// Whether one of them has put a whole new row in the place of what lies beneath.
    var isReplaced = false

    /// Goes down past the changes of one layer.
    mutating func pass(_ changes: [Change<Row>], taken: ColumnSet) {
        for change in changes.reversed() {
            guard let base = change.base else { continue }
            let relevant = change.touchedColumns.intersection(columns.union(taken))
            if seen == nil { seen = base.seen } else { seen?._$copy(relevant, from: base.seen) }
            columns.formUnion(relevant)
        }
    }
}

/// What a commit has done to one row.
private struct Fate<Row: StoredRow> {
    let committed: Change<Row>
    /// The number of the commit.
    let sequence: Int64
    /// The columns that were written.
    let written: ColumnSet
    let isRemoved: Bool
    /// Whether the row was not in the store before.
    let isNew: Bool
    let wentAlong: Bool

    init(_ committed: Change<Row>, taken: Change<Row>?, sequence: Int64, wentAlong: Bool) {
        self.committed = committed
        self.sequence = sequence
        self.wentAlong = wentAlong
        // An update that was given up because the row was gone has removed nothing.
        isRemoved = committed.kind == .withdrawn || (committed.kind == .delete && taken?.kind == .delete)
        isNew = committed.kind == .insert && taken?.kind == .insert
        let all = ColumnSet(first: ColumnSet.limit)
        written =
            committed.kind == .insert || isRemoved ? all : committed.kind == .update ? committed.columns : ColumnSet()
    }

    /// What is left of a parent's change.
    func rest(
        of change: Change<Row>,
        shown: Row,
        _ above: Above<Row>,
        _ takenHere: ColumnSet,
        later: ColumnSet,
        isOwn: Bool
    ) -> Change<Row>? {
        if above.isReplaced { return nil }
        switch change.kind {
        case .delete: return isRemoved ? nil : change
        case .withdrawn: return change
        case .insert:
            guard wentAlong, let seen = above.seen else { return wentAlong ? nil : change }
            // What the parent has set since, merged into its insert, stays as an edit of the committed row.
            let since = above.columns.subtracting(later).intersection(change.row._$differences(from: seen))
                .intersection(change.row._$differences(from: committed.row))
            return since.isEmpty ? nil : standing(change, since)
        case .update, .orphan:
            var beneath = takenHere
            if let seen = above.seen {
                beneath.formUnion(above.columns.subtracting(shown._$differences(from: seen)))
            }
            var rest = change.columns.subtracting(beneath.intersection(written))
            if wentAlong { rest = rest.intersection(above.columns.union(takenHere)) }
            if rest.isEmpty { return nil }
            if isNew { return standing(change, rest) }
            let kept = Change(kind: change.kind, columns: rest, row: change.row, base: change.base)
            return isOwn ? kept.settled(on: committed, columns: written) : kept
        }
    }

    /// An edit of the committed row, since there was none before that it could stand on.
    private func standing(_ change: Change<Row>, _ columns: ColumnSet) -> Change<Row> {
        Change(
            kind: .update,
            columns: columns,
            row: change.row,
            base: Base(seen: committed.row, stored: committed.row, sequence: sequence)
        )
    }
}

extension Change {
    /// This change with what the original has seen in columns that an earlier edit of its layer sets.
    fileprivate func standing(on lower: ColumnSet, of original: Change) -> Change {
        guard let base, let seen = original.base?.seen, !lower.isEmpty else { return self }
        var merged = base.seen
        merged._$copy(lower, from: seen)
        return Change(
            kind: kind,
            columns: columns,
            row: row,
            base: Base(seen: merged, stored: base.stored, sequence: base.sequence)
        )
    }

    /// The columns that this change sets; all of them, unless it is an update.
    fileprivate var touchedColumns: ColumnSet {
        kind == .update || kind == .orphan ? columns : ColumnSet(first: ColumnSet.limit)
    }
}
