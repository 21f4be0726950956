import Foundation

/// Replacements of single changes in one layer, for any entity.
protocol LayerEdits: Sendable {
    /// Applies the replacements.
    ///
    /// - Parameter level: the segments of the layer. Empty segments stay, for the edits of other entities.
    func apply(to level: inout [ChangeSegment], entity: Int)

    /// Removes the deletes of restored rows from a layer.
    func cancelDeletes(in layers: inout LayerSnapshot, context: Int, entity: Int, frozen: Set<Int>)

    /// Checks that restored rows still have the bytes that they keep outside of the row.
    ///
    /// - Throws: ``StrataError`` with `conflict` if a restored row has lost its bytes.
    func checkBytes(_ info: EntityInfo, _ connection: Connection) throws
}

struct EntityEdits<Row: StoredRow>: LayerEdits {
    /// The replacements, by the segment's position in the layer and the row's id; nil removes a change.
    var changes: [Int: [Int64: Change<Row>?]] = [:]

    /// The rows that are restored.
    var restored: Set<Int64> = []

    func apply(to level: inout [ChangeSegment], entity: Int) { level.edit(entity: entity, changes) }

    func cancelDeletes(in layers: inout LayerSnapshot, context: Int, entity: Int, frozen: Set<Int>) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in restored {
            let stack = layers.stack(id, entity: entity, in: context, Row.self)
            for (index, entry) in stack.enumerated()
            where entry.change.kind == .delete && !frozen.contains(layers[context][entry.segment].id) {
                if stack.cancelsInsert(index) { continue }
                edits[entry.segment, default: [:]][id] = .some(entry.change.cancelled)
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }

    func checkBytes(_ info: EntityInfo, _ connection: Connection) throws {
        for case (_, let change?) in changes.values.joined() where change.kind == .undelete {
            for column in info.externals {
                guard let external = change.row._$external(at: column), external.data == nil else { continue }
                if try connection.content(of: external) == nil {
                    throw ExternalWriter.goneError(change.row._$id, column, info)
                }
            }
        }
    }
}

extension Entity {
    /// Resolves the conflicts between a layer's changes and the rows below them, if these differ from the rows that
    /// were seen.
    ///
    /// - Parameter first: the position of the first segment whose rows are checked.
    func resolveConflicts(
        _ layers: LayerSnapshot,
        context: Int,
        from first: Int,
        _ policy: MergePolicy,
        _ conflicts: inout [StrataError.Detail]
    ) -> (any LayerEdits)? {
        var edits = EntityEdits<Row>()
        var ids: Set<Int64> = []
        for segment in layers[context][first...] {
            guard let part = segment.parts[info.index]?.typed(Row.self) else { continue }
            for (id, change) in zip(part.ids, part.changes) {
                if let base = change.base, !base.parentEqualsOriginal { ids.insert(id) }
            }
        }
        for id in ids.sorted() {
            let stack = withCommonOriginals(
                layers.stack(id, entity: info.index, in: context, Row.self),
                layers[context]
            )
            let onlyClearsDeleted = stack.allSatisfy { entry in
                self.onlyClearsDeleted(entry.change) { layers.contains(.delete, of: $1, entity: $0, in: [context]) }
            }
            let resolved = resolve(
                stack.map(\.change),
                provenance: stack.map(\.provenance),
                onlyClearsDeleted: onlyClearsDeleted,
                policy,
                &conflicts
            )
            for (index, change) in resolved.enumerated() {
                edits.changes[stack[index].segment, default: [:]][id] = .some(change)
                // A row that the same side has deleted again is not restored.
                let newer = stack[(index + 1)...].prefix { $0.provenance == stack[index].provenance }
                if change?.kind == .undelete, newer.last?.change.kind != .delete { edits.restored.insert(id) }
            }
        }
        return edits.changes.isEmpty ? nil : edits
    }

    /// Returns the changes of one row in one layer, oldest first, adapted so that their conflicts do not depend on the
    /// number of segments that store them.
    ///
    /// Adjacent updates with the same provenance count as one edit. In each column, all of them get the original value
    /// of the oldest one, and show the value of the newest one.
    private func withCommonOriginals(_ stack: [StackEntry<Row>], _ level: [ChangeSegment]) -> [StackEntry<Row>] {
        if stack.count == 1 { return stack }
        /// Whether the change at an index belongs to the same edit as the one before it.
        func continues(_ index: Int) -> Bool {
            guard index > 0 else { return false }
            let (older, newer) = (stack[index - 1], stack[index])
            return older.provenance == newer.provenance && older.change.kind.isUpdate && newer.change.kind.isUpdate
                && !level[(older.segment + 1)...newer.segment].contains(where: \.hasGapBelow)
        }
        var result = stack
        // The columns that the edit has set so far, and a row with the values that it has seen in them.
        var columns = ColumnSet()
        var original = stack[0].change.row
        for index in stack.indices {
            if !continues(index) { columns = ColumnSet() }
            let change = stack[index].change
            guard let base = change.base else { continue }
            let common = change.columns.intersection(columns)
            original._$copy(change.columns.subtracting(common), from: base.original)
            columns.formUnion(change.columns)
            if common.isEmpty { continue }
            var seen = base.original
            seen._$copy(common, from: original)
            result[index].change.base = Base(
                original: seen,
                storeOriginal: base.storeOriginal,
                sequence: base.sequence,
                parentVersion: base.parentVersion
            )
        }
        // The same from the newest change down, with the values that the edit has set last.
        columns = ColumnSet()
        var last = stack[0].change.row
        for index in stack.indices.reversed() {
            let change = stack[index].change
            let common = change.columns.intersection(columns)
            result[index].change.row._$copy(common, from: last)
            last._$copy(change.columns.subtracting(common), from: change.row)
            columns = continues(index) ? columns.union(change.columns) : ColumnSet()
        }
        return result
    }

    /// The changes of one row in one layer, oldest first, after their conflicts are resolved; nil for discarded
    /// changes.
    private func resolve(
        _ stack: [Change<Row>],
        provenance: [Provenance],
        onlyClearsDeleted: Bool,
        _ policy: MergePolicy,
        _ conflicts: inout [StrataError.Detail]
    ) -> [Change<Row>?] {
        let parent = stack[0].rowBelow
        var below = parent
        var result: [Change<Row>?] = []
        /// Whether the preceding edit restores the row.
        var isUndeleted = false
        // Own edits before a delete do not matter any more. The delete is compared with the row from which those edits
        // began.
        let endsDeleted = stack.last?.kind == .delete
        for (index, change) in stack.enumerated() {
            if endsDeleted && index < stack.count - 1 && change.kind != .delete {
                // A side that insists on the delete has also seen the row below these edits.
                let isInsisting = change.kind == .update && below != nil && policy != .error && policy != .theirs
                let resolved = isInsisting ? change.over(below) : change
                result.append(resolved)
                if resolved.kind.isVisible { below = resolved.row }
                continue
            }
            let later = stack[(index + 1)...]
            if change.kind == .updateOfDeleted, below == nil,
                later.contains(where: { $0.kind == .insert || $0.kind == .undelete })
            {
                // A later change has already decided about this row.
                result.append(later.contains { $0.kind == .insert } ? nil : change)
                continue
            }
            if isUndeleted, change.kind.isUpdate {
                // The row below is not known, and was not known when these edits were made. Edits of one provenance
                // are one decision about the row, so they are not compared with the row below one by one.
                var resolved = asUndelete(change)
                if provenance[index] == provenance[index - 1], let older = result[index - 1] {
                    resolved = older.followed(by: resolved)
                    result[index - 1] = nil
                }
                result.append(resolved)
                below = resolved.row
                continue
            }
            isUndeleted = false
            var resolved: Change<Row>? = change.rebased(onto: below) ?? change
            switch (resolved?.kind, resolved?.base) {
            case (.delete, let base?):
                guard let parent, !stack[..<index].contains(where: { $0.kind == .insert }) else { break }
                var origin = base.original
                for older in stack[..<index].reversed() {
                    guard let seen = older.base?.original else { continue }
                    origin._$copy(older.kind == .delete ? ColumnSet(first: ColumnSet.limit) : older.columns, from: seen)
                }
                let changed = parent._$differences(from: origin)
                    .subtracting(info.derived).subtracting(info.bookkeeping)
                if !changed.isEmpty {
                    switch resolveConflict(.changedElsewhere, mine: change.row, policy) {
                    case .mine: break
                    case .theirs: return stack.map { _ in nil }
                    case .error: conflicts += changedElsewhere(change.row, changed, base: origin, theirs: parent)
                    }
                }
                // A delete that wins has seen the parent's row, even if an older delete of this layer hides it.
                resolved = resolved?.over(below, seen: below ?? parent)
            case (.updateOfDeleted, _):
                switch onlyClearsDeleted ? .theirs : resolveConflict(.deletedElsewhere, mine: change.row, policy) {
                case .theirs: return stack.map { _ in nil }
                case .mine:
                    isUndeleted = true
                    resolved = asUndelete(change)
                // The change once restored the row, which then existed without it. It loses nothing now.
                case .error where change.columns.isEmpty: resolved = nil
                case .error: conflicts += deletedElsewhere(stack[index])
                }
            case (.update, let base?), (.undelete, let base?):
                guard let theirs = below else {
                    isUndeleted = true
                    break
                }
                resolved?.kind = .update
                guard case .changed = base.parentVersion, let update = resolved else { break }
                let conflicting = update.conflicting(with: theirs).subtracting(info.automatic)
                let resolution = resolveConflict(
                    conflicting,
                    mine: update.row,
                    base: base.original,
                    theirs: theirs,
                    policy
                )
                conflicts += resolution.conflicts
                if resolution.isChanged {
                    resolved?.row = resolution.row
                    resolved?.columns = rest(of: update.columns, without: resolution.conflictLosses)
                    resolved?.row._$copy(resolution.conflictLosses, from: theirs)
                }
                resolved = resolved?.columns.isEmpty == true ? nil : resolved?.over(theirs)
            default: break
            }
            result.append(resolved)
            if let resolved { below = resolved.kind.isVisible ? resolved.row : nil }
        }
        return result
    }

    /// This edit as an undelete of its row.
    private func asUndelete(_ change: Change<Row>) -> Change<Row> {
        var change = change
        change.kind = .undelete
        change.base = change.base?.over(.gone)
        return change
    }

    /// Changes that set the timestamps of rows that a context has inserted or updated.
    func stamps(_ parts: [any AnyRowChanges], layers: LayerSnapshot, context: Int, now: Date) -> (any AnyRowChanges)? {
        var stamps: [Change<Row>] = []
        var seen: Set<Int64> = []
        let time = StoredValue.real(now.timeIntervalSinceReferenceDate)
        for part in parts.reversed() {
            for id in part.ids where seen.insert(id).inserted {
                guard let change = layers.top(id, entity: info.index, in: [context], Row.self),
                    change.kind.isVisible
                else { continue }
                var columns = ColumnSet()
                var row = change.row
                if let createdAt = info.createdAt, (try? row._$value(at: createdAt)) == .null {
                    let isNew = parts.contains { part in
                        part.index(of: id).map { part.kind(at: $0) == .insert } ?? false
                    }
                    if isNew, (try? row._$set(time, at: createdAt)) != nil { columns.insert(createdAt) }
                }
                if let updatedAt = info.updatedAt, (try? row._$set(time, at: updatedAt)) != nil {
                    columns.insert(updatedAt)
                }
                guard !columns.isEmpty else { continue }
                columns.formUnion(info.derived)
                let base = change.base ?? Base(original: change.row, storeOriginal: nil, sequence: 0)
                stamps.append(
                    Change(
                        kind: .update,
                        columns: columns,
                        row: row,
                        base: Base(original: change.row, storeOriginal: base.storeOriginal, sequence: base.sequence)
                    )
                )
            }
        }
        return stamps.isEmpty ? nil : RowChanges(unsorted: stamps)
    }

    /// Finds unique values of a layer that its parents or the store already have.
    ///
    /// - Parameter first: the position of the first segment of the layer whose values are checked.
    func findDuplicates(
        _ layers: LayerSnapshot,
        path: [Int],
        from first: Int,
        _ connection: Connection,
        _ found: inout [StrataError.Detail]
    ) throws {
        let own = layers[path[path.count - 1]][first...].compactMap { $0.parts[info.index] }
        guard !own.isEmpty, !info.uniques.isEmpty else { return }
        let pending = PendingRows(layers.parts(of: info.index, in: path))
        let mine = PendingRows(own)
        for unique in info.uniques {
            func isOwn(_ id: Int64) -> Bool {
                own.contains { $0.typed(Row.self)[id]?.sets(unique) ?? false }
            }
            let statement = try connection.statement(info.sql.selectHolder(unique))
            // Conflicts of parents among themselves are not resolved by this layer.
            for place in mine.visible where isOwn(place.number) {
                let row = own[Int(place.part)].typed(Row.self).changes[Int(place.index)].row
                let key = try unique.map { try row._$value(at: $0) }
                if key.contains(.null) { continue }
                if let other = try pending.rival(of: place, with: key, in: unique, isGiven: isOwn) {
                    found.append(duplicate(row, of: other, in: unique))
                    continue
                }
                var holder: Int64?
                try statement.run(key) { holder = try $0.read(Int64.self, at: 0) }
                // The layers' state of the holder takes precedence over the store's.
                guard let holder, holder != place.number, !pending.isHidden(holder) else { continue }
                found.append(duplicate(row, of: holder, in: unique))
            }
        }
    }
}

extension Change {
    /// The edits before a delete that count again after the delete is cancelled; nil without such edits.
    var cancelled: Change? {
        if columns.isEmpty { return nil }
        // If no row exists below the delete, none exists below these edits.
        var kind = ChangeKind.update
        if case .gone = base?.parentVersion { kind = .updateOfDeleted }
        return Change(kind: kind, columns: columns, row: row, base: base)
    }

    /// This change, made with knowledge of the row that is below it now.
    fileprivate func over(_ theirs: Row?) -> Change { over(theirs, seen: theirs) }

    /// This change over the row that is below it now, made with knowledge of another row.
    fileprivate func over(_ theirs: Row?, seen known: Row?) -> Change {
        guard let base else { return self }
        var seen = base.original
        if let known { seen._$copy(kind == .delete ? ColumnSet(first: ColumnSet.limit) : columns, from: known) }
        return Change(
            kind: kind,
            columns: columns,
            row: row,
            base: Base(
                original: seen,
                storeOriginal: base.storeOriginal,
                sequence: base.sequence,
                parentVersion: theirs == nil ? .gone : .sameAsOriginal
            )
        )
    }
}

extension Change {
    /// Whether this change sets the row's values in these columns.
    func sets(_ columns: [Int]) -> Bool {
        kind != .update || columns.contains(where: self.columns.contains)
    }

    /// The row that is below the change now; nil if the row is gone.
    ///
    /// In columns that this change does not set, the row that the base has seen may be outdated. The change's own row
    /// shows the current values of these columns.
    var rowBelow: Row? {
        guard let base, kind != .insert else { return nil }
        switch base.parentVersion {
        case .gone: return nil
        case .changed(let row): return row
        case .sameAsOriginal:
            guard kind.isUpdate else { return base.original }
            var beneath = row
            beneath._$copy(columns, from: base.original)
            return beneath
        }
    }
}
