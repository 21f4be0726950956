extension Part {
    /// Takes out of the parents' layers what the committed changes have overwritten (H20).
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
            var descent = Descent(
                committed,
                taken: record.taken[entity]?.typed(Row.self)[number],
                wentAlong: record.wentAlong[entity]?.contains(number) ?? false
            )
            descent.isWithdrawn =
                descent.isRemoved
                && foreign.contains { context in
                    before.stack(number, entity: entity, in: context, Row.self).contains {
                        $0.change.kind == .insert && !record.segments.contains(before[context][$0.segment].id)
                    }
                }
            for context in path.reversed() {
                descent.enterLayer()
                for entry in before.stack(number, entity: entity, in: context, Row.self).reversed() {
                    let segment = before[context][entry.segment].id
                    if record.segments.contains(segment) {
                        descent.pass(taken: entry.change)
                    } else if !record.included.contains(context) {
                        let isOwn = record.committer.map { entry.carriers.contains($0) } ?? false
                        var rest = descent.rest(of: entry.change)
                        if isOwn { rest = rest?.settled(on: committed, columns: descent.written) }
                        edits[context, default: [:]][segment, default: [:]][number] = .some(rest)
                    }
                }
            }
        }
        for (context, edits) in edits {
            var byPosition: [Int: [Int64: Change<Row>?]] = [:]
            for (position, segment) in layers[context].enumerated() { byPosition[position] = edits[segment.id] }
            layers.edit(context, entity: entity, byPosition)
        }
    }
}

/// The way down through the layers of a commit's path, newest changes first, past all changes of one row that was
/// committed. It says what is left of those that were not taken (C16, H20).
///
/// An edit is dropped where a committed change of the same column lies on top of it in its own layer, or where it is
/// what the changes above it, down from a committed one and dropped themselves, have seen. What the committing side has
/// not seen stays pending with its old base, and so does all that lies beneath that. Edits of a column in one layer that
/// no committed change parts are dropped or kept together.
private struct Descent<Row: StoredRow> {
    /// The columns that were written.
    let written: ColumnSet
    let isRemoved: Bool
    let isInStore: Bool
    let wentAlong: Bool
    /// Whether an insert of a parent was withdrawn, and all that the parents did to the row with it.
    var isWithdrawn = false
    /// Whether a committed change has put a whole new row in the place of what lies beneath.
    private var isReplaced = false
    /// The columns that committed changes above have set.
    private var touched = ColumnSet()
    /// Those of them in which nothing was kept since, and what was seen in them.
    private var under = ColumnSet()
    private var seen: Row
    /// Columns that a committed change of this layer has set.
    private var takenHere = ColumnSet()
    /// Columns of which this layer's edits, since the last committed change, were kept or dropped.
    private var kept = ColumnSet()
    private var dropped = ColumnSet()

    init(_ committed: Change<Row>, taken: Change<Row>?, wentAlong: Bool) {
        self.wentAlong = wentAlong
        seen = committed.row
        isInStore = committed.kind.isVisible
        // An update that was given up because the row was gone has removed nothing.
        isRemoved = committed.kind == .withdrawn || (committed.kind == .delete && taken?.kind == .delete)
        let all = ColumnSet(first: ColumnSet.limit)
        written =
            committed.kind == .insert || isRemoved ? all : committed.kind == .update ? committed.columns : ColumnSet()
    }

    mutating func enterLayer() {
        takenHere = ColumnSet()
        kept = ColumnSet()
        dropped = ColumnSet()
    }

    mutating func pass(taken change: Change<Row>) {
        if change.kind == .insert { isReplaced = true }
        let columns = change.touchedColumns
        touched.formUnion(columns)
        takenHere.formUnion(columns)
        under.formUnion(columns)
        if let base = change.base { seen._$copy(columns, from: base.seen) }
        kept = kept.subtracting(columns)
        dropped = dropped.subtracting(columns)
    }

    /// What is left of a parent's change.
    mutating func rest(of change: Change<Row>) -> Change<Row>? {
        if isReplaced || isWithdrawn { return nil }
        switch change.kind {
        case .delete: return isRemoved ? nil : change
        case .withdrawn: return change
        case .insert where !wentAlong: return change
        case .insert, .update, .orphan:
            let columns = keep(of: change)
            guard !columns.isEmpty else { return nil }
            // What was edited after an insert that went along is an edit of the committed row.
            let kind = change.kind == .insert ? .update : change.kind
            let rest = Change(kind: kind, columns: columns, row: change.row, base: change.base)
            return isInStore ? rest.stored() : rest
        }
    }

    /// The columns of an edit that are kept.
    private mutating func keep(of change: Change<Row>) -> ColumnSet {
        // Of a row that went along, all is in the store that no committed change has touched.
        let columns = wentAlong ? change.columns.intersection(touched) : change.columns
        let isAsSeen = under.subtracting(change.row._$differences(from: seen))
        let top = columns.subtracting(kept).subtracting(dropped)
        let overwritten = top.intersection(takenHere.union(isAsSeen)).intersection(written)
        dropped.formUnion(overwritten)
        kept.formUnion(top.subtracting(overwritten))
        under = under.subtracting(kept)
        if let base = change.base { seen._$copy(columns.intersection(dropped), from: base.seen) }
        return columns.intersection(kept)
    }
}

extension Change {
    /// The columns that this change sets; all of them, unless it is an update.
    fileprivate var touchedColumns: ColumnSet {
        kind == .update || kind == .orphan ? columns : ColumnSet(first: ColumnSet.limit)
    }
}
