extension RowChanges {
    /// Removes changes that the committed changes have overwritten from the layers of parents.
    ///
    /// - Parameter before: the layers, including the committed segments.
    func dropOverwritten(
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: LayerSnapshot,
        in layers: inout LayerSnapshot
    ) {
        let foreign = path.filter { !record.included.contains($0) && before.levels[$0] != nil }
        guard !foreign.isEmpty else { return }
        var ids: Set<Int64> = []
        for context in foreign { ids.formUnion(touched(in: before, context: context, entity: entity)) }
        if !ids.isEmpty {
            dropOverwritten(ids, foreign, record, entity: entity, path: path, before: before, in: &layers)
        }
    }

    /// A separate function: most commits overwrite nothing, and generic code looks up its types when a function begins.
    private func dropOverwritten(
        _ ids: Set<Int64>,
        _ foreign: [Int],
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: LayerSnapshot,
        in layers: inout LayerSnapshot
    ) {
        var edits: [Int: [Int: [Int64: Change<Row>?]]] = [:]
        let result = record[entity]
        for id in ids {
            guard let committed = self[id] else { continue }
            var descent = Descent(
                committed,
                taken: result?.taken?.typed(Row.self)[id],
                isIncluded: result?.includedRows.contains(id) ?? false
            )
            /// Whether the commit has read a segment but not written it.
            func isLeft(_ position: Int, in context: Int) -> Bool {
                let segment = before[context][position].id
                return record.known.contains(segment) && !record.segments.contains(segment)
            }
            descent.isInsertCancelled =
                descent.isRemoved
                && foreign.contains { context in
                    let left = before.stack(id, entity: entity, in: context, Row.self)
                        .filter { isLeft($0.segment, in: context) }
                    return left.contains { $0.change.kind.isOfNewRow } && left.last?.change.kind.removesRow == false
                }
            for context in path.reversed() {
                let stack = before.stack(id, entity: entity, in: context, Row.self)
                descent.enterLayer(
                    inserting: stack.contains { $0.change.kind.isOfNewRow && isLeft($0.segment, in: context) }
                )
                var rests: [Int: Change<Row>?] = [:]
                for entry in stack.reversed() {
                    let segment = before[context][entry.segment].id
                    if record.segments.contains(segment) {
                        descent.pass(taken: entry.change)
                    } else if record.included.contains(context) {
                        // Edits above the context's own commit are handled elsewhere.
                        continue
                    } else {
                        let isOwn = record.committer.map { entry.provenance.contains($0) } ?? false
                        if record.known.contains(segment) {
                            var rest = descent.rest(of: entry.change)
                            if isOwn { rest = rest?.rebased(onCommitted: committed, columns: descent.written) }
                            rests[segment] = .some(rest)
                        } else {
                            // The change was made during the commit and does not know the commit. All of it stays.
                            var rest = descent.rest(ofNewer: entry.change, record.sequence)
                            if isOwn && committed.kind.isVisible {
                                rest = rest?.rebased(onCommitted: committed, columns: descent.written)
                            }
                            edits[context, default: [:]][segment, default: [:]][id] = .some(rest)
                        }
                    }
                }
                for (segment, rest) in rests {
                    edits[context, default: [:]][segment, default: [:]][id] = .some(
                        rest.map(descent.withoutDropped)
                    )
                }
            }
        }
        for (context, edits) in edits {
            var byPosition: [Int: [Int64: Change<Row>?]] = [:]
            var isReduced = false
            for (position, segment) in layers[context].enumerated() {
                guard let rests = edits[segment.id] else { continue }
                byPosition[position] = rests
                let part = segment.parts[entity]?.typed(Row.self)
                isReduced =
                    isReduced
                    || rests.contains { id, rest in
                        part?[id].map { $0.kind != rest?.kind || $0.columns != rest?.columns } ?? false
                    }
            }
            layers.edit(context, entity: entity, byPosition)
            if isReduced { layers.noteCommit(record.sequence, byOtherThan: context) }
        }
    }
}

/// The way down through the layers of a commit's path, past all changes of one committed row, newest first. It
/// determines the remainder of the changes that the commit did not take.
///
/// An edit is dropped in two cases. In the first, a committed change of the same column lies above it in the same
/// layer. In the second, the changes above it have seen exactly this edit, from a committed change down through changes
/// that were dropped themselves. Changes that the committing side has not seen stay pending with their old base, and so
/// do all changes below them. Edits of a column in one layer are dropped or kept together, unless a committed change
/// separates them.
private struct Descent<Row: StoredRow> {
    /// The columns that were written.
    let written: ColumnSet
    let isRemoved: Bool
    let isInStore: Bool
    let isIncluded: Bool
    /// Whether an insert by a parent was cancelled. All changes of the parents to the row are cancelled with it.
    var isInsertCancelled = false
    /// Whether a committed change has replaced the row below with a new one.
    private var isReplaced = false
    /// Whether a committed change has cancelled the deletes below.
    private var isRestored = false
    /// Whether a committed delete was passed. The changes below existed when it deleted the row.
    private var isBeneathDelete = false
    /// Whether this layer itself has deleted the row. The delete is handled, so earlier edits in the layer do not
    /// matter.
    private var isDone = false
    /// Whether an insert of this layer was dropped, as an edit before a delete. Older changes of the layer concern the
    /// row before that insert, so they are dropped too.
    private var isReinserted = false
    private var isInserting = false
    /// Whether this layer still hides the row, so that the commit included none of the layer's changes.
    private var isHidden = false
    private let isNew: Bool
    private let committed: Row
    /// The columns that committed changes above have set.
    private var touched = ColumnSet()
    /// The subset of `touched` in which nothing was kept since. `seen` has the values that were seen in these columns.
    private var under = ColumnSet()
    private var seen: Row
    /// Columns that a committed change of this layer has set.
    private var takenHere = ColumnSet()
    /// The columns whose edits in this layer were kept or dropped, since the last committed change.
    private var kept = ColumnSet()
    private var dropped = ColumnSet()
    private var keptHere = ColumnSet()
    private var droppedHere = ColumnSet()

    init(_ committed: Change<Row>, taken: Change<Row>?, isIncluded: Bool) {
        self.isIncluded = isIncluded
        seen = committed.row
        self.committed = committed.row
        isInStore = committed.kind.isVisible
        isNew = committed.kind == .insert
        // An update that was discarded because its row was gone has removed nothing.
        isRemoved = committed.kind == .cancelledInsert || (committed.kind == .delete && taken?.kind == .delete)
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
        isReinserted = false
        isHidden = false
    }

    mutating func pass(taken change: Change<Row>) {
        if change.kind == .insert || (change.kind == .undelete && isNew) { isReplaced = true }
        if change.kind == .undelete { isRestored = true }
        if isRemoved, change.kind.removesRow { isBeneathDelete = true }
        let columns = change.touchedColumns
        touched.formUnion(columns)
        takenHere.formUnion(columns)
        under.formUnion(columns)
        if let base = change.base { seen._$copy(columns, from: base.original) }
        kept = kept.subtracting(columns)
        dropped = dropped.subtracting(columns)
    }

    /// The remainder of a parent's change; nil if nothing remains.
    mutating func rest(of change: Change<Row>) -> Change<Row>? {
        // Several deletes in one layer belong to different contexts, so each one counts, unless the row was inserted
        // again in between.
        if isReplaced || isInsertCancelled || isReinserted || (isDone && !change.kind.removesRow) {
            if change.kind == .insert { isReinserted = true }
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
            return isInStore ? rest.withStoreOriginal() : rest
        case .cancelledInsert where isRemoved:
            isDone = true
            return nil
        case .cancelledInsert: return isRestored ? nil : deleteOfInserted(change)
        case .insert where !isInStore: return change
        case .insert, .update, .updateOfDeleted, .undelete, .delete:
            if change.kind == .insert || (change.kind == .undelete && isIncluded) { isRestored = true }
            let columns = keep(of: change)
            // An undelete refers to the state at the time of the decision, even if it sets no column.
            let isUndelete = change.kind == .undelete && !isIncluded && !isBeneathDelete
            guard !columns.isEmpty || isUndelete else { return nil }
            // Edits after an insert that the commit included, and edits before a cancelled delete, are edits of the
            // committed row.
            let kind = change.kind == .updateOfDeleted || isUndelete ? change.kind : .update
            let rest = Change(kind: kind, columns: columns, row: change.row, base: change.base)
            return isInStore ? rest.withStoreOriginal() : rest
        }
    }

    /// The remainder of a change that was made while the commit was being written.
    mutating func rest(ofNewer change: Change<Row>, _ sequence: Int64) -> Change<Row>? {
        guard isInStore else { return isRemoved && change.kind == .delete ? nil : change }
        switch change.kind {
        case .insert:
            // The change brings back a row that is already in the store.
            let columns = change.row._$differences(from: committed)
            if columns.isEmpty { return nil }
            let base = Base(inStore: committed, sequence: sequence)
            return Change(kind: .update, columns: columns, row: change.row, base: base)
        case .cancelledInsert: return deleteOfInserted(change)
        case .update, .updateOfDeleted, .undelete, .delete: return change.withStoreOriginal()
        }
    }

    /// The delete of a row that was inserted in the same layer but is in the store, because a merge policy decided so.
    private mutating func deleteOfInserted(_ change: Change<Row>) -> Change<Row> {
        guard isInStore else { return change }
        isDone = true
        let base = Base(original: change.lastSeen, storeOriginal: change.lastSeen, sequence: 0)
        return Change(kind: .delete, columns: ColumnSet(), row: change.row, base: base)
    }

    /// A delete without the edits before it that a committed change has overwritten.
    private mutating func withoutOverwritten(_ change: Change<Row>) -> Change<Row> {
        guard !change.columns.isEmpty, let base = change.base else { return change }
        let columns = keep(of: change)
        let overwritten = change.columns.subtracting(columns)
        if overwritten.isEmpty { return change }
        var seen = base.original
        seen._$copy(overwritten, from: change.row)
        return Change(
            kind: .delete,
            columns: columns,
            row: change.row,
            base: Base(
                original: seen,
                storeOriginal: base.storeOriginal,
                sequence: base.sequence,
                parentVersion: base.parentVersion
            )
        )
    }

    /// A change of a row that is gone. Columns that were dropped in this layer show their earlier values.
    func withoutDropped(_ change: Change<Row>) -> Change<Row> {
        guard isRemoved, change.kind.isUpdate else { return change }
        var change = change
        change.row._$copy(droppedHere.subtracting(keptHere), from: seen)
        return change
    }

    /// The columns of an edit that are kept.
    private mutating func keep(of change: Change<Row>) -> ColumnSet {
        // For a row that the commit included as a whole, all columns are in the store unless a committed change has set
        // them.
        let columns = isIncluded && !isHidden ? change.columns.intersection(touched) : change.columns
        let equalsSeen = under.subtracting(change.row._$differences(from: seen))
        let top = columns.subtracting(kept).subtracting(dropped)
        var overwritten = takenHere.union(equalsSeen)
        // A value that is already in the store is not an edit any more.
        if isInStore { overwritten.formUnion(top.subtracting(change.row._$differences(from: committed))) }
        overwritten = top.intersection(overwritten).intersection(written)
        dropped.formUnion(overwritten)
        kept.formUnion(top.subtracting(overwritten))
        under = under.subtracting(kept)
        keptHere.formUnion(kept)
        droppedHere.formUnion(dropped)
        if let base = change.base { seen._$copy(columns.intersection(dropped), from: base.original) }
        return columns.intersection(kept)
    }
}

extension Change {
    /// The columns that this change sets. Changes other than updates set all columns.
    fileprivate var touchedColumns: ColumnSet {
        kind.isUpdate ? columns : ColumnSet(first: ColumnSet.limit)
    }
}
