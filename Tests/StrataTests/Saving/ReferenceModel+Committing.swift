import Strata

extension ReferenceModel {
    /// Writes the changes that a context holds and those that it has saved upward. Compares each column with the stored
    /// value that the change is based on.
    ///
    /// - Parameter whole: the contexts of a chain. Their levels are committed as a whole, in addition to the
    ///   committer's.
    mutating func commit(_ context: String, with whole: Set<String> = [], _ policy: MergePolicy) -> SaveOutcome {
        let whole = whole.union([context])
        let path = path(context)
        var nets: [(number: Int64, net: Net, isIncluded: Bool)] = []
        var conflicts: Set<String> = []
        for number in Set(path.flatMap { levels[$0].map { Array($0.keys) } ?? [] }).sorted() {
            let (taken, unseen) = takenEntries(number, by: context, whole, policy)
            conflicts.formUnion(unseen)
            guard !taken.isEmpty, var net = Self.net(Self.withoutCancelled(taken)) else { continue }
            var isIncluded = false
            if case .update(let edits, _, false) = net, let row = shownInForeign(number, context, whole) {
                // A row that a parent inserted is committed as a whole.
                net = .insert(Self.apply([Entry(provenance: [], change: .update(edits, row: row))], to: row) ?? row)
                isIncluded = true
            }
            nets.append((number, net, isIncluded))
        }
        var outcome = store
        var written: [Int64: Set<Int>] = [:]
        for (number, net, _) in nets {
            let theirs = store[number]
            switch net {
            case .cancelledInsert: continue
            case .insert(let values):
                outcome[number] = values
                written[number] = Set(values.indices)
            case .update(let edits, let row, let restores):
                guard let theirs else {
                    if restores || policy == .mine {
                        outcome[number] = Self.apply([Entry(provenance: [], change: .update(edits, row: row))], to: row)
                        written[number] = Set(row.indices)
                    } else if policy == .error {
                        for column in edits.keys { conflicts.insert(place(number, column)) }
                    }
                    continue
                }
                for (column, edit) in edits {
                    let isConflict =
                        theirs[column] != edit.storeOriginal ?? edit.original && theirs[column] != edit.value
                    if isConflict && policy == .error { conflicts.insert(place(number, column)) }
                    if isConflict && policy == .theirs { continue }
                    outcome[number]?[column] = edit.value
                    written[number, default: []].insert(column)
                }
            case .delete(let original, let storeOriginal):
                guard let theirs else { continue }
                let changed = theirs.indices.filter { theirs[$0] != storeOriginal[$0] ?? original[$0] }
                if !changed.isEmpty && policy == .theirs { continue }
                if policy == .error { for column in changed { conflicts.insert(place(number, column)) } }
                outcome[number] = nil
            }
        }
        guard conflicts.isEmpty else { return SaveOutcome(code: .conflict, places: conflicts) }
        let before = store
        store = outcome
        for (number, net, isIncluded) in nets {
            let isNew = before[number] == nil && store[number] != nil
            dropOverwritten(number, net, written[number] ?? [], isIncluded, isNew, context, whole)
            for level in order { settleNew(number, in: level) }
            for level in order { updateStoreOriginals(number, written[number] ?? [], in: level) }
        }
        tidy()
        return .success
    }

    /// The entries that are committed, from the store's end up, and the columns in conflict.
    private func takenEntries(
        _ number: Int64,
        by context: String,
        _ whole: Set<String>,
        _ policy: MergePolicy
    ) -> (entries: [Entry], conflicts: Set<String>) {
        var taken: [Entry] = []
        var conflicts: Set<String> = []
        for level in path(context) {
            // The levels of a chain meet each other as in a save.
            let beneath = whole.count > 1 ? taken : []
            taken += takenEntries(number, in: level, over: beneath, by: context, whole, policy, &conflicts)
            // Edits made before a delete no longer matter.
            if beneath.isEmpty && taken.last?.isDelete == true { conflicts = [] }
        }
        return (taken, conflicts)
    }

    /// The entries of one level that are committed. A column is in conflict if one of these entries changes it and has
    /// not seen the change of another entry in the level or beneath.
    ///
    /// - Parameter beneath: the entries of the lower levels of a chain.
    private func takenEntries(
        _ number: Int64,
        in level: String,
        over beneath: [Entry],
        by context: String,
        _ whole: Set<String>,
        _ policy: MergePolicy,
        _ conflicts: inout Set<String>
    ) -> [Entry] {
        let entries = Self.asOne(levels[level]?[number] ?? [])
        var result: [Entry] = []
        var shown = beneath.isEmpty ? row(number, in: parents[level]) : Self.apply(beneath, to: store[number])
        var changed = beneath.reduce(into: Set<Int>()) { $0.formUnion($1.columns) }
        if !beneath.isEmpty, case .delete(let original, _)? = entries.last?.change {
            // The delete is compared with the row from which the level has started.
            let origin = Self.origin(entries, original)
            let unseen = changed.filter { column in shown.map { $0[column] != origin[column] } ?? false }
            if policy == .theirs && !unseen.isEmpty { return [] }
            if policy == .error { for column in unseen { conflicts.insert(place(number, column)) } }
            return entries
        }
        for (index, entry) in entries.enumerated() {
            var entry = entry
            defer { shown = Self.apply([entry], to: shown) }
            guard isTaken(entry, level, context, whole) else { continue }
            if case .update(let edits, _) = entry.change, shown == nil, !entry.restores,
                (beneath + result).contains(where: \.isDelete),
                !entries[index...].contains(where: { $0.isInsert || $0.restores })
            {
                // The delete stands until a decision brings the row back.
                if policy == .error { for column in edits.keys { conflicts.insert(place(number, column)) } }
                if policy != .mine { continue }
            }
            if case .update(var edits, let row) = entry.change, let shown {
                for (column, edit) in edits
                where changed.contains(column) && edit.original != shown[column] && edit.value != shown[column] {
                    if policy == .error { conflicts.insert(place(number, column)) }
                    if policy == .theirs { edits[column] = nil }
                }
                entry.change = .update(edits, row: row)
            }
            changed.formUnion(entry.columns)
            result.append(entry)
        }
        return result
    }

    /// The row as shown by the topmost context that is not committed and has not deleted the row, if one of these
    /// contexts has inserted the row.
    private func shownInForeign(_ number: Int64, _ context: String, _ whole: Set<String>) -> Values? {
        let foreign = path(context).filter { !whole.contains($0) }
        let isInserted = foreign.contains { level in
            levels[level]?[number]?.contains { $0.isInsert || ($0.restores && store[number] == nil) } ?? false
        }
        guard isInserted else { return nil }
        for level in foreign.reversed() {
            guard let entries = levels[level]?[number], let last = entries.last else { continue }
            if !last.isDelete, let row = row(number, in: level) { return row }
            if entries.contains(where: \.isInsert) { return nil }
        }
        return nil
    }

    private static func net(_ entries: [Entry]) -> Net? {
        var net: Net?
        for entry in entries {
            switch (net, entry.change) {
            case (_, .insert(let values)): net = .insert(values)
            case (nil, .update(let edits, let row)): net = .update(edits, row: row, restores: entry.restores)
            case (nil, .delete(let original, let storeOriginal)):
                net = .delete(original: original, storeOriginal: storeOriginal)
            case (.insert(let values), .update(let edits, _)):
                var values = values
                for (column, edit) in edits { values[column] = edit.value }
                net = .insert(values)
            case (.insert, .delete): net = .cancelledInsert
            case (.update(let old, _, let restores), .update(let new, let row)):
                let merged = old.merging(new) {
                    Edit(value: $1.value, original: $0.original, storeOriginal: $0.storeOriginal)
                }
                net = .update(merged, row: row, restores: restores || entry.restores)
            case (.update(let old, _, _), .delete(var original, var storeOriginal)):
                for (column, edit) in old {
                    (original[column], storeOriginal[column]) = (edit.original, edit.storeOriginal)
                }
                net = .delete(original: original, storeOriginal: storeOriginal)
            case (.delete, _), (.cancelledInsert, _): continue
            }
        }
        return net
    }

    /// Once a row is in the store, the values seen before count as the stored values.
    private mutating func settleNew(_ number: Int64, in level: String) {
        guard store[number] != nil, let entries = levels[level]?[number] else { return }
        levels[level]?[number] = entries.map { entry in
            var entry = entry
            switch entry.change {
            case .insert: break
            case .update(let edits, let row):
                entry.change = .update(
                    edits.mapValues {
                        Edit(value: $0.value, original: $0.original, storeOriginal: $0.storeOriginal ?? $0.original)
                    },
                    row: row
                )
            case .delete(let original, let storeOriginal):
                entry.change = .delete(original: original, storeOriginal: zip(storeOriginal, original).map { $0 ?? $1 })
            }
            return entry
        }
    }

    /// Edits on top of the committed values have seen the values that a commit would compare them with.
    private mutating func updateStoreOriginals(_ number: Int64, _ written: Set<Int>, in level: String) {
        guard let committed = store[number], let entries = levels[level]?[number] else { return }
        levels[level]?[number] = entries.map { entry in
            var entry = entry
            switch entry.change {
            case .insert: break
            case .update(var edits, let row):
                for (column, edit) in edits
                where written.contains(column) && edit.original == committed[column] {
                    edits[column]?.storeOriginal = committed[column]
                }
                entry.change = .update(edits, row: row)
            case .delete(let original, var storeOriginal):
                for column in written where original[column] == committed[column] {
                    storeOriginal[column] = committed[column]
                }
                entry.change = .delete(original: original, storeOriginal: storeOriginal)
            }
            return entry
        }
    }

    /// The entries that stay in the levels after the commit of a row.
    private mutating func dropOverwritten(
        _ number: Int64,
        _ net: Net,
        _ written: Set<Int>,
        _ isIncluded: Bool,
        _ isNew: Bool,
        _ context: String,
        _ whole: Set<String>
    ) {
        let isRemoved = store[number] == nil && net.isRemoval
        let path = path(context)
        let isWithdrawn =
            isRemoved
            && path.contains { level in
                let left = (levels[level]?[number] ?? []).filter { !isTaken($0, level, context, whole) }
                return left.contains(where: \.isInsert) && left.last?.isDelete == false
            }
        let kept = Self.columns.indices.map { column in
            keptEdits(number, column, isRemoved ? nil : written.contains(column), isIncluded, context, whole)
        }
        var isReplaced = false
        var isRestored = false
        /// Whether the entries beneath existed when a committed change deleted the row.
        var isBeneathDelete = false
        for level in path.reversed() {
            guard let entries = levels[level]?[number] else { continue }
            var rest: [Entry] = []
            // If the level has deleted the row itself, its earlier edits no longer matter.
            var isDone = false
            var isInsertedAgain = false
            for (index, entry) in entries.enumerated().reversed() {
                var entry = entry
                if isTaken(entry, level, context, whole) {
                    if entry.isInsert || (entry.restores && isNew) { isReplaced = true }
                    if entry.restores { isRestored = true }
                    if isRemoved && entry.isDelete { isBeneathDelete = true }
                    continue
                }
                switch entry.change {
                case _ where isWithdrawn || isReplaced || isInsertedAgain || (isDone && !entry.isDelete):
                    if entry.isInsert { isInsertedAgain = true }
                case .insert:
                    if store[number] != nil { isRestored = true } else { rest.append(entry) }
                case .delete:
                    let isInserted = entries.contains { $0.isInsert && !isTaken($0, level, context, whole) }
                    isDone = isRemoved || (isInserted && store[number] != nil)
                    if !isRemoved && !isRestored { rest.append(entry) }
                case .update(let edits, let row):
                    if isIncluded && entry.restores { isRestored = true }
                    let edits = edits.filter { kept[$0.key].contains(Place(level: level, index: index)) }
                    if isIncluded || isBeneathDelete { entry.restores = false }
                    if edits.isEmpty && !entry.restores { continue }
                    entry.change = .update(edits, row: row)
                    rest.append(entry)
                }
            }
            if isRemoved {
                // A dropped column shows its earlier value if the row is brought back.
                for column in Self.columns.indices where !kept[column].contains(where: { $0.level == level }) {
                    let isDropped = entries.contains { entry in
                        if case .update(let edits, _) = entry.change, edits[column] != nil {
                            !isTaken(entry, level, context, whole)
                        } else {
                            false
                        }
                    }
                    guard isDropped, let original = entries.lazy.compactMap({ $0.original[column] }).first else {
                        continue
                    }
                    for index in rest.indices {
                        guard case .update(let edits, var row) = rest[index].change else { continue }
                        row[column] = original
                        rest[index].change = .update(edits, row: row)
                    }
                }
            }
            levels[level]?[number] = rest.reversed()
        }
    }

    private struct Place: Hashable {
        let level: String
        let index: Int
    }

    /// The parents' edits of one column that stay after the commit of a row.
    ///
    /// The levels are visited from the top down. A committed edit has overwritten the edits beneath it in the same
    /// level. Further down, it has overwritten edits whose value the change above has seen, unless that change has been
    /// kept itself. Edits in one level share their fate if no committed edit separates them. Edits of a level before a
    /// delete that is now done no longer matter.
    ///
    /// - Parameter isColumnWritten: nil if the row was removed.
    private func keptEdits(
        _ number: Int64,
        _ column: Int,
        _ isColumnWritten: Bool?,
        _ isIncluded: Bool,
        _ context: String,
        _ whole: Set<String>
    ) -> Set<Place> {
        enum Above {
            case nothingCommitted
            case seen(Int?)
            case unseen
        }
        let isWritten = isColumnWritten ?? true
        var kept: Set<Place> = []
        var isRestored = false
        var above = Above.nothingCommitted
        for level in path(context).reversed() {
            var isBeneath = false
            var isKept: Bool?
            var isHidden = false
            var isDone = false
            let entries = levels[level]?[number] ?? []
            let isInserted = entries.contains { $0.isInsert && !isTaken($0, level, context, whole) }
            for (index, entry) in entries.enumerated().reversed() {
                let isTaken = isTaken(entry, level, context, whole)
                if isDone && !isTaken { continue }
                if !isTaken && entry.isDelete {
                    isDone = isColumnWritten == nil || (isInserted && store[number] != nil)
                }
                // A row that is committed as a whole has the values shown by those parents that do not hide it.
                if !isTaken && entry.isDelete && !isRestored { isHidden = true }
                if entry.restores ? isTaken || isIncluded : !isTaken && entry.isInsert { isRestored = true }
                if isTaken {
                    guard entry.columns.contains(column) else { continue }
                    above = .seen(entry.original[column])
                    isBeneath = true
                    isKept = nil
                } else if case .update(let edits, _) = entry.change, let edit = edits[column] {
                    if isKept == nil {
                        isKept =
                            switch above {
                            case .nothingCommitted: !isIncluded || isHidden
                            case .seen(let value): !isWritten || !(isBeneath || edit.value == value)
                            case .unseen: true
                            }
                        // A value that is now in the store is no longer an edit.
                        if isWritten && edit.value == store[number]?[column] { isKept = false }
                    }
                    if isKept == true { kept.insert(Place(level: level, index: index)) }
                    if case .nothingCommitted = above { continue }
                    above = isKept == true ? .unseen : .seen(edit.original)
                }
            }
        }
        return kept
    }

    private func isTaken(_ entry: Entry, _ level: String, _ context: String, _ whole: Set<String>) -> Bool {
        whole.contains(level) || entry.provenance.contains(context)
    }
}

extension ReferenceModel.Net {
    var isRemoval: Bool {
        switch self {
        case .delete, .cancelledInsert: true
        case .insert, .update: false
        }
    }
}
