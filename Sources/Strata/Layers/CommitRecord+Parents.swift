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
        if !numbers.isEmpty {
            leaveBehind(numbers, foreign, record, entity: entity, path: path, before: before, in: &layers)
        }
    }

    /// Apart, since most commits have overwritten nothing, and generic code asks for its types when it begins.
    private func leaveBehind(
        _ numbers: Set<Int64>,
        _ foreign: [Int],
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: Layers,
        in layers: inout Layers
    ) {
        var edits: [Int: [Int: [Int64: Change<Row>?]]] = [:]
        for number in numbers {
            guard let committed = self[number] else { continue }
            var descent = Descent(
                committed,
                taken: record.taken[entity]?.typed(Row.self)[number],
                wentAlong: record.wentAlong[entity]?.contains(number) ?? false
            )
            /// Whether the commit has read it and not taken it.
            func isLeft(_ position: Int, in context: Int) -> Bool {
                let segment = before[context][position].id
                return record.known.contains(segment) && !record.segments.contains(segment)
            }
            descent.isWithdrawn =
                descent.isRemoved
                && foreign.contains { context in
                    let left = before.stack(number, entity: entity, in: context, Row.self)
                        .filter { isLeft($0.segment, in: context) }
                    return left.contains { $0.change.kind.isOfNewRow }
                        && left.last.map { $0.change.kind != .delete && $0.change.kind != .withdrawn } ?? false
                }
            for context in path.reversed() {
                let stack = before.stack(number, entity: entity, in: context, Row.self)
                descent.enterLayer(
                    inserting: stack.contains { $0.change.kind.isOfNewRow && isLeft($0.segment, in: context) }
                )
                var rests: [Int: Change<Row>?] = [:]
                for entry in stack.reversed() {
                    let segment = before[context][entry.segment].id
                    if record.segments.contains(segment) {
                        descent.pass(taken: entry.change)
                    } else if record.included.contains(context) {
                        // Edits on top of the own commit are seen to by themselves.
                        continue
                    } else {
                        let isOwn = record.committer.map { entry.carriers.contains($0) } ?? false
                        if record.known.contains(segment) {
                            var rest = descent.rest(of: entry.change)
                            if isOwn { rest = rest?.settled(on: committed, columns: descent.written) }
                            rests[segment] = .some(rest)
                        } else {
                            // It was made while this was being written, and knows nothing of it: all of it stays.
                            var rest = descent.rest(ofNewer: entry.change, record.sequence)
                            if isOwn && committed.kind.isVisible {
                                rest = rest?.settled(on: committed, columns: descent.written)
                            }
                            edits[context, default: [:]][segment, default: [:]][number] = .some(rest)
                        }
                    }
                }
                for (segment, rest) in rests {
                    edits[context, default: [:]][segment, default: [:]][number] = .some(
                        rest.map(descent.withoutDropped)
                    )
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
    /// Whether a committed change has cancelled the deletes that lie beneath.
    private var isRestored = false
    /// Whether what lies beneath was there when a committed change has deleted the row.
    private var isBeneathDelete = false
    /// Whether this layer has deleted the row itself, which is done now: what it had edited before is no matter any more.
    private var isDone = false
    /// Whether an insert of this layer, which is done too, lies on top of what follows.
    private var isInsertedAgain = false
    private var isInserting = false
    /// Whether this layer goes on hiding the row, so that nothing of it went along.
    private var isHidden = false
    private let isNew: Bool
    private let committed: Row
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
    private var keptHere = ColumnSet()
    private var droppedHere = ColumnSet()

    init(_ committed: Change<Row>, taken: Change<Row>?, wentAlong: Bool) {
        self.wentAlong = wentAlong
        seen = committed.row
        self.committed = committed.row
        isInStore = committed.kind.isVisible
        isNew = committed.kind == .insert
        // An update that was given up because the row was gone has removed nothing.
        isRemoved = committed.kind == .withdrawn || (committed.kind == .delete && taken?.kind == .delete)
        let all = ColumnSet(first: ColumnSet.limit)
        written =
            committed.kind == .insert || isRemoved ? all : committed.kind == .update ? committed.columns : ColumnSet()
    }

    mutating func enterLayer(inserting: Bool) {
        isInserting = inserting
        takenHere = ColumnSet()
        kept = ColumnSet()
        dropped = ColumnSet()
        keptHere = ColumnSet()
        droppedHere = ColumnSet()
        isDone = false
        isInsertedAgain = false
        isHidden = false
    }

    mutating func pass(taken change: Change<Row>) {
        if change.kind == .insert || (change.kind == .restore && isNew) { isReplaced = true }
        if change.kind == .restore { isRestored = true }
        if isRemoved, change.kind == .delete || change.kind == .withdrawn { isBeneathDelete = true }
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
        // Of several deletes in one layer each is somebody's own, unless the row was inserted again in between.
        let isDelete = change.kind == .delete || change.kind == .withdrawn
        if isReplaced || isWithdrawn || isInsertedAgain || (isDone && !isDelete) {
            if change.kind == .insert { isInsertedAgain = true }
            return nil
        }
        switch change.kind {
        case .delete where isRemoved:
            isDone = true
            return nil
        case .delete where !isRestored:
            isHidden = true
            if isInserting { return deleteOfInserted(change) }
            let rest = withoutOverwritten(change)
            return isInStore ? rest.stored() : rest
        case .withdrawn: return isRemoved || isRestored ? nil : deleteOfInserted(change)
        case .insert where !isInStore: return change
        case .insert, .update, .orphan, .restore, .delete:
            if change.kind == .insert || (change.kind == .restore && wentAlong) { isRestored = true }
            let columns = keep(of: change)
            // A restore goes by what was there when it was decided, also one that sets nothing.
            let isRestore = change.kind == .restore && !wentAlong && !isBeneathDelete
            guard !columns.isEmpty || isRestore else { return nil }
            // What was edited after an insert that went along, or before a delete that was cancelled, is an edit of the
            // committed row.
            let kind = change.kind == .orphan || isRestore ? change.kind : .update
            let rest = Change(kind: kind, columns: columns, row: change.row, base: change.base)
            return isInStore ? rest.stored() : rest
        }
    }

    /// What is left of a change that was made while the commit was being written.
    mutating func rest(ofNewer change: Change<Row>, _ sequence: Int64) -> Change<Row>? {
        guard isInStore else { return isRemoved && change.kind == .delete ? nil : change }
        switch change.kind {
        case .insert:
            // Brought back, over a row that is in the store by now.
            let columns = change.row._$differences(from: committed)
            if columns.isEmpty { return nil }
            let base = Base(seenInStore: committed, sequence: sequence)
            return Change(kind: .update, columns: columns, row: change.row, base: base)
        case .withdrawn: return deleteOfInserted(change)
        case .update, .orphan, .restore, .delete: return change.stored()
        }
    }

    /// The delete of a row that was inserted in the same layer, and that has come into the store nevertheless: by the
    /// decision of a merge policy.
    private mutating func deleteOfInserted(_ change: Change<Row>) -> Change<Row> {
        guard isInStore else { return change }
        isDone = true
        let base = Base(seen: change.lastSeen, stored: change.lastSeen, sequence: 0)
        return Change(kind: .delete, columns: ColumnSet(), row: change.row, base: base)
    }

    /// A delete without those of the edits before it that a committed change has overwritten.
    private mutating func withoutOverwritten(_ change: Change<Row>) -> Change<Row> {
        guard !change.columns.isEmpty, let base = change.base else { return change }
        let columns = keep(of: change)
        let overwritten = change.columns.subtracting(columns)
        if overwritten.isEmpty { return change }
        var seen = base.seen
        seen._$copy(overwritten, from: change.row)
        return Change(
            kind: .delete,
            columns: columns,
            row: change.row,
            base: Base(seen: seen, stored: base.stored, sequence: base.sequence, beneath: base.beneath)
        )
    }

    /// A change of a row that is gone, showing what was dropped in this layer as it was before.
    func withoutDropped(_ change: Change<Row>) -> Change<Row> {
        guard isRemoved, change.kind.isUpdate else { return change }
        var change = change
        change.row._$copy(droppedHere.subtracting(keptHere), from: seen)
        return change
    }

    /// The columns of an edit that are kept.
    private mutating func keep(of change: Change<Row>) -> ColumnSet {
        // Of a row that went along, all is in the store that no committed change has touched.
        let columns = wentAlong && !isHidden ? change.columns.intersection(touched) : change.columns
        let isAsSeen = under.subtracting(change.row._$differences(from: seen))
        let top = columns.subtracting(kept).subtracting(dropped)
        var overwritten = takenHere.union(isAsSeen)
        // What is in the store now is no edit any more.
        if isInStore { overwritten.formUnion(top.subtracting(change.row._$differences(from: committed))) }
        overwritten = top.intersection(overwritten).intersection(written)
        dropped.formUnion(overwritten)
        kept.formUnion(top.subtracting(overwritten))
        under = under.subtracting(kept)
        keptHere.formUnion(kept)
        droppedHere.formUnion(dropped)
        if let base = change.base { seen._$copy(columns.intersection(dropped), from: base.seen) }
        return columns.intersection(kept)
    }
}

extension Change {
    /// The columns that this change sets; all of them, unless it is an update.
    fileprivate var touchedColumns: ColumnSet {
        kind.isUpdate ? columns : ColumnSet(first: ColumnSet.limit)
    }
}
