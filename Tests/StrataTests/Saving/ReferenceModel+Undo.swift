import Strata

/// Undo and redo: each step's own edits of a context are a group. Later changes by others stay.
///
/// Decisions that go beyond the guide:
/// - A row comes back even if others have deleted it too. A delete in this context's own layer is removed, as if it had
///   never been made. If the row is still missing, it is brought back as with `.mine`, with the values that this
///   context last showed, also in columns that were edited in its level before another context deleted the row. A row
///   that was inserted here and has never left this context is inserted again.
/// - Redo takes back the changes that undo has made.
extension ReferenceModel {
    static let undoLevels = 20

    /// An edit, with the values that are needed to take it back.
    enum Edited {
        case insert(Int64)
        case update(Int64, before: Values, after: Values)
        case delete(Int64, Values)
    }

    struct UndoState {
        var undoable: [[Edited]] = []
        var redoable: [[Edited]] = []
        var open: [Edited] = []
    }

    mutating func record(_ edited: Edited, in context: String) {
        undo[context, default: UndoState()].open.append(edited)
        undo[context]?.redoable = []
    }

    /// Later edits belong to another group.
    mutating func closeGroup(_ context: String) {
        guard let group = undo[context]?.open, !group.isEmpty else { return }
        undo[context]?.open = []
        undo[context]?.undoable.append(group)
        if let count = undo[context]?.undoable.count, count > Self.undoLevels { undo[context]?.undoable.removeFirst() }
    }

    mutating func undo(_ context: String) {
        closeGroup(context)
        guard let group = undo[context]?.undoable.popLast() else { return }
        let done = takeBack(group, in: context)
        if !done.isEmpty { undo[context]?.redoable.append(done) }
    }

    mutating func redo(_ context: String) {
        closeGroup(context)
        guard let group = undo[context]?.redoable.popLast() else { return }
        let done = takeBack(group, in: context)
        if !done.isEmpty { undo[context]?.undoable.append(done) }
    }

    private mutating func takeBack(_ group: [Edited], in context: String) -> [Edited] {
        let before = undo[context]
        undo[context]?.open = []
        for edited in group.reversed() {
            switch edited {
            case .insert(let number): delete(number, in: context)
            case .update(let number, let before, let after):
                guard let shown = row(number, in: context) else { continue }
                for column in shown.indices where shown[column] == after[column] && before[column] != after[column] {
                    set(number, column, before[column], in: context)
                }
            case .delete(let number, let values): bringBack(number, values, in: context)
            }
            tidy()
        }
        let done = undo[context]?.open ?? []
        undo[context] = before
        return done
    }

    private mutating func bringBack(_ number: Int64, _ values: Values, in context: String) {
        guard row(number, in: context) == nil else { return }
        let entries = levels[context]?[number] ?? []
        if entries.contains(where: { $0.isInsert && $0.provenance == [context] }) {
            insert(number, values, in: context)
            return
        }
        if entries.last?.isDelete == true { levels[context]?[number]?.removeAll(where: \.isDelete) }
        if row(number, in: context) == nil {
            let edits = editsOverHidden(number, values, in: context)
            levels[context, default: [:]][number, default: []].append(
                Entry(provenance: [context], change: .update(edits, row: values), restores: true)
            )
        }
        record(.insert(number), in: context)
    }

    /// The values of a row that comes back, in the columns of the edits on top of the level, which no reader sees.
    private func editsOverHidden(_ number: Int64, _ values: Values, in context: String) -> [Int: Edit] {
        var edits: [Int: Edit] = [:]
        for entry in (levels[context]?[number] ?? []).reversed() {
            guard case .update(let hidden, _) = entry.change else { break }
            for (column, edit) in hidden where edits[column] == nil {
                let storeOriginal = storedBase(number, column, context)
                edits[column] = Edit(value: values[column], original: edit.value, storeOriginal: storeOriginal)
            }
        }
        return edits
    }
}
