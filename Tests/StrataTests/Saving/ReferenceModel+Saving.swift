import Strata

extension ReferenceModel {
    /// Moves the changes of a context one level up. Compares each column with the value that was seen through the
    /// parent.
    mutating func save(_ context: String, _ policy: MergePolicy) -> SaveOutcome {
        guard let parent = parents[context] else { return commit(context, policy) }
        var conflicts: Set<String> = []
        var moved: [Int64: [Entry]] = [:]
        for (number, entries) in levels[context] ?? [:] {
            moved[number] = resolve(number, Self.asOne(entries), over: row(number, in: parent), policy, &conflicts)
        }
        guard conflicts.isEmpty else { return SaveOutcome(code: .conflict, places: conflicts) }
        levels[context] = nil
        for (number, entries) in moved {
            levels[parent, default: [:]][number, default: []] += entries.map { entry in
                var entry = entry
                entry.provenance.insert(context)
                return entry
            }
        }
        tidy()
        return .success
    }

    /// The entries, with neighbours of the same side combined: their last value is compared with the value that the
    /// first of them has seen.
    static func asOne(_ entries: [Entry]) -> [Entry] {
        entries.reduce(into: []) { result, entry in
            guard let last = result.last, last.provenance == entry.provenance, !entry.hasGapBelow,
                case .update(let older, _) = last.change, case .update(let newer, let row) = entry.change
            else {
                result.append(entry)
                return
            }
            let edits = older.merging(newer) {
                Edit(value: $1.value, original: $0.original, storeOriginal: $0.storeOriginal)
            }
            result[result.count - 1].change = .update(edits, row: row)
            result[result.count - 1].restores = last.restores || entry.restores
        }
    }

    private func resolve(
        _ number: Int64,
        _ entries: [Entry],
        over parent: Values?,
        _ policy: MergePolicy,
        _ conflicts: inout Set<String>
    ) -> [Entry] {
        var shown = parent
        var result: [Entry] = []
        // Own edits before a delete no longer matter: the delete is compared with the row from which they started.
        let endsDeleted = entries.last?.isDelete == true
        var isBroughtBack = false
        for (index, entry) in entries.enumerated() {
            var entry = entry
            switch entry.change {
            case .insert: isBroughtBack = false
            case .update(let edits, let row) where endsDeleted:
                // A delete with .mine counts as having seen the values beneath these edits too.
                guard policy == .mine, let below = shown else { break }
                let original = edits.map {
                    ($0, Edit(value: $1.value, original: below[$0], storeOriginal: $1.storeOriginal))
                }
                entry.change = .update(Dictionary(uniqueKeysWithValues: original), row: row)
            case .update(var edits, let row):
                if isBroughtBack {
                    // The row beneath is not known, and it was not known when these edits were made.
                    entry.restores = true
                    // Edits of one side are one decision.
                    if let last = result.last, last.provenance == entry.provenance,
                        case .update(let older, _) = last.change
                    {
                        result.removeLast()
                        edits = older.merging(edits) {
                            Edit(value: $1.value, original: $0.original, storeOriginal: $0.storeOriginal)
                        }
                        entry.change = .update(edits, row: row)
                    }
                    break
                }
                guard let below = shown else {
                    // Deleted elsewhere, edited here.
                    if entry.restores {
                        isBroughtBack = true
                        break
                    }
                    let later = entries[(index + 1)...]
                    if later.contains(where: \.isInsert) { continue }
                    if later.contains(where: \.restores) { break }
                    if policy == .theirs { return [] }
                    if policy == .mine {
                        isBroughtBack = true
                        entry.restores = true
                    } else {
                        for column in edits.keys { conflicts.insert(place(number, column)) }
                        continue
                    }
                    break
                }
                for (column, edit) in edits where edit.original != below[column] && edit.value != below[column] {
                    if policy == .theirs {
                        edits[column] = nil
                    } else if policy == .mine {
                        edits[column]?.original = below[column]
                    } else {
                        conflicts.insert(place(number, column))
                    }
                }
                if edits.isEmpty { continue }
                entry.change = .update(edits, row: row)
                entry.restores = false
            case .delete(let original, let storeOriginal):
                // Edited elsewhere, deleted here.
                guard let below = parent, !entries.contains(where: { $0.isInsert }) else { break }
                let origin = Self.origin(entries, original)
                let changed = below.indices.filter { below[$0] != origin[$0] }
                if !changed.isEmpty {
                    if policy == .theirs { return [] }
                    if policy == .error { for column in changed { conflicts.insert(place(number, column)) } }
                    entry.change = .delete(original: shown ?? below, storeOriginal: storeOriginal)
                }
            }
            shown = Self.apply([entry], to: shown)
            result.append(entry)
        }
        return result
    }

    /// The entries without the deletes that a later entry has cancelled by bringing the row back.
    static func withoutCancelled(_ entries: [Entry]) -> [Entry] {
        let isThere = entries.last?.isDelete == false
        guard let end = isThere ? entries.endIndex : entries.lastIndex(where: \.restores),
            let delete = entries[..<end].lastIndex(where: \.isDelete)
        else { return entries }
        // A row that was inserted and deleted is gone, and another context has inserted it again.
        if entries[..<delete].contains(where: \.isInsert) { return Array(entries[(delete + 1)...]) }
        return entries[..<end].filter { !$0.isDelete } + entries[end...]
    }

    /// The row from which a level's changes started: for each column, the value that the lowest of them has seen.
    static func origin(_ entries: [Entry], _ original: Values) -> Values {
        var origin = original
        for entry in entries.reversed() {
            switch entry.change {
            case .insert: break
            case .update(let edits, _): for (column, edit) in edits { origin[column] = edit.original }
            case .delete(let original, _): origin = original
            }
        }
        return origin
    }

    func place(_ number: Int64, _ column: Int) -> String { "\(number).\(Self.columns[column])" }
}

extension ReferenceModel.Entry {
    var isInsert: Bool { if case .insert = change { true } else { false } }
    var isUpdate: Bool { if case .update = change { true } else { false } }
    var isDelete: Bool { if case .delete = change { true } else { false } }

    /// The edits of an update, by column.
    var edits: [Int: ReferenceModel.Edit] { if case .update(let edits, _) = change { edits } else { [:] } }

    /// The columns that it changes. A delete changes all columns.
    var columns: Set<Int> {
        switch change {
        case .insert(let values): Set(values.indices)
        case .update(let edits, _): Set(edits.keys)
        case .delete(let original, _): Set(original.indices)
        }
    }

    /// The values that it has seen, by column.
    var original: [Int: Int] {
        switch change {
        case .insert: [:]
        case .update(let edits, _): edits.mapValues(\.original)
        case .delete(let original, _): Dictionary(uniqueKeysWithValues: original.enumerated().map { ($0, $1) })
        }
    }
}
