@testable import Strata

/// The effects of saves, commits and rollbacks on the layers and the store, and the errors that refuse saves and
/// commits.
extension StockStateModel {
    mutating func rollback(_ level: Int, includingSaved: Bool) {
        levels[level]?.entries.removeAll { includingSaved || $0.provenance == [level] }
    }

    /// Forgets values that a level has set and set back, as every save and commit does first. A value that another
    /// context has set can only be set back by that context.
    mutating func dropNoOpChanges(_ level: Int) {
        guard let entries = levels[level]?.entries else { return }
        var setBack: [Int64: Set<Int>] = [:]
        for case .set(let number, let column, _) in entries.map(\.edit) {
            let isWhole = entries.contains { entry in
                switch entry.edit {
                case .insert(number, _), .delete(number): true
                default: false
                }
            }
            let own = entries.filter { if case .set(number, column, _) = $0.edit { true } else { false } }
            guard !isWhole, let seen = own.first?.seen, case .set(_, _, let value)? = own.last?.edit,
                own.allSatisfy({ $0.provenance == own[0].provenance }), value.isSame(as: seen)
            else { continue }
            setBack[number, default: []].insert(column)
        }
        levels[level]?.entries.removeAll { entry in
            if case .set(let number, let column, _) = entry.edit {
                setBack[number]?.contains(column) ?? false
            } else {
                false
            }
        }
    }

    // MARK: One level up

    /// The errors of a save. The error is a conflict if the parent no longer has a row, which the policy `.mine` would
    /// bring back.
    func refusals(ofSaving level: Int, to parent: Int) -> Set<StrataError.Code> {
        let edits = levels[level]?.entries.map(\.edit) ?? []
        var result = view(parent)
        if result.apply(edits) { return [.conflict] }
        if isMissing(edits, in: result, false) { return [.missingReference] }
        return result.hasDuplicates(among: edits) ? [.notUnique] : []
    }

    mutating func save(_ level: Int, to parent: Int) {
        for var entry in levels[level]?.entries ?? [] {
            entry.provenance.insert(level)
            levels[parent]?.entries.append(entry)
        }
        levels[level]?.entries = []
    }

    // MARK: Down to the store

    private static func isTaken(_ entry: Entry, in context: Int, by level: Int) -> Bool {
        context == level || entry.provenance.contains(level)
    }

    private func entries(of level: Int, areTaken: Bool) -> [Edit] {
        path(level).flatMap { context in
            (levels[context]?.entries ?? []).filter { Self.isTaken($0, in: context, by: level) == areTaken }.map(\.edit)
        }
    }

    /// Whether a commit avoids everything that the parents have changed and not finished. It must also avoid everything
    /// that the level has removed, saved and then edited again, which is possible because it reads only the committed
    /// state.
    func canCommit(_ level: Int) -> Bool {
        let (own, others) = (entries(of: level, areTaken: true), entries(of: level, areTaken: false))
        let isRemoved = own.indices.contains { index in own[..<index].contains { $0.removes(own[index]) } }
        return !isRemoved && Set(own.flatMap(\.numbers)).isDisjoint(with: others.flatMap(\.numbers))
    }

    /// The possible errors of a commit, any of which may come. Conflicts are as in ``refusals(ofSaving:to:)``.
    func refusals(ofCommitting level: Int) -> Set<StrataError.Code> {
        let edits = entries(of: level, areTaken: true)
        let (result, hasOrphans) = store(after: edits)
        let conflicts: Set<StrataError.Code> = hasOrphans ? [.conflict] : []
        if isMissing(edits, in: result, hasOrphans) { return conflicts.union([.missingReference]) }
        return conflicts.union(result.hasDuplicates(among: edits) ? [.notUnique] : [])
    }

    mutating func commit(_ level: Int) {
        store = store(after: entries(of: level, areTaken: true)).view
        for context in path(level) {
            levels[context]?.entries.removeAll { Self.isTaken($0, in: context, by: level) }
        }
    }

    /// The store with committed edits, and whether some edits concern rows that no longer exist.
    private func store(after edits: [Edit]) -> (view: View, hasOrphans: Bool) {
        // A member that was added and removed again leaves no edit. It does not remove a member that another context
        // has added meanwhile.
        var removed: Set<Int> = []
        for case .unpair(_, let ids) in edits { removed.formUnion(ids) }
        let effective = edits.filter { if case .pair(_, _, let id) = $0 { !removed.contains(id) } else { true } }
        var result = store
        let hasOrphans = result.apply(effective)
        result.mergeAdditions()
        for case .delete(let number) in edits { applyRules(number, effective, &result) }
        return (result, hasOrphans)
    }

    /// Applies the delete rules to the rows in the store, beyond the effects of the edits themselves.
    private func applyRules(_ number: Int64, _ edits: [Edit], _ result: inout View) {
        guard let entity = store.rows[number]?.entity else { return }
        for pair in store.pairs.keys where pair.has(number) && !edits.contains(where: { $0.adds(pair) }) {
            result.additions[pair] = nil
        }
        for reference in Self.references where reference.destination == entity {
            for referring in store.referring(reference.entity, reference.column, to: number)
            where result.rows[referring] != nil && !edits.contains(where: { $0.sets(referring, reference.column) }) {
                if reference.cascades {
                    result.rows[referring] = nil
                    applyRules(referring, edits, &result)
                } else {
                    result.rows[referring]?.values[reference.column] = .null
                }
            }
        }
    }

    /// Whether edits lead to missing rows. If the edited row itself is missing, the engine may find that first.
    private func isMissing(_ edits: [Edit], in result: View, _ hasOrphans: Bool) -> Bool {
        edits.contains { edit in
            switch edit {
            case .insert(let number, _): result.rows[number]?.references.contains { result.rows[$0] == nil } ?? false
            case .set(let number, let column, .integer(let target)):
                if let row = result.rows[number] {
                    row.values[column] == .integer(target) && row.references.contains(target)
                        && result.rows[target] == nil
                } else {
                    hasOrphans && result.rows[target] == nil
                }
            case .pair(let pair, _, _):
                result.additions[pair] != nil && (result.rows[pair.left] == nil || result.rows[pair.right] == nil)
            default: false
            }
        }
    }
}

extension StockStateModel.View {
    /// Applies edits one after the other. Returns whether one of them concerns a missing row that no later edit
    /// removes. The merge policy decides about such a save.
    mutating func apply(_ edits: [StockStateModel.Edit]) -> Bool {
        var hasOrphans = false
        for (index, edit) in edits.enumerated() {
            if isPast(edit) && !edits[index...].contains(where: { $0.removes(edit) }) { hasOrphans = true }
            apply(edit)
        }
        return hasOrphans
    }

    /// Whether an edit concerns something that no longer exists.
    private func isPast(_ edit: StockStateModel.Edit) -> Bool {
        switch edit {
        case .set(let number, _, _): rows[number] == nil
        case .place(let pair, _, let ids), .places(let pair, _, let ids):
            !(additions[pair] ?? []).contains { !$0.ids.isDisjoint(with: ids) }
        default: false
        }
    }

    /// Whether an edited lid has the same item as another lid.
    func hasDuplicates(among edits: [StockStateModel.Edit]) -> Bool {
        let column = StockStateModel.references[2].column
        let lids = Dictionary(grouping: numbers(3)) { rows[$0]?.values[column] ?? .null }
        return lids.contains { item, lids in
            item != .null && lids.count > 1 && lids.contains { lid in edits.contains { $0.sets(lid, column) } }
        }
    }
}

extension StockStateModel.Edit {
    /// Whether this edit gives a row its value of a column.
    fileprivate func sets(_ number: Int64, _ column: Int) -> Bool {
        switch self {
        case .insert(number, _), .set(number, column, _): true
        default: false
        }
    }

    fileprivate func adds(_ pair: StockStateModel.Pair) -> Bool {
        if case .pair(pair, _, _) = self { true } else { false }
    }

    fileprivate func removes(_ other: StockStateModel.Edit) -> Bool {
        switch (self, other) {
        case (.delete(let number), .set(let edited, _, _)): number == edited
        case (.unpair(_, let ids), .place(_, _, let placed)), (.unpair(_, let ids), .places(_, _, let placed)):
            !ids.isDisjoint(with: placed)
        default: false
        }
    }
}
