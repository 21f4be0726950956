extension ObjectContext {
    /// Forgets the effects of deletes that are now saved.
    func forgetSavedDeletes() {
        guard !deleteEffects.effects.isEmpty else { return }
        publish()
        let layers = store.layers.state.withLock { $0.layers }
        deleteEffects.effects = deleteEffects.effects.filter { layers.isDeleted($0, entity: $1.entity, in: id) }
    }

    /// The effects to undo when the edits of some rows are dropped.
    ///
    /// Adds to `ids` the rows that were deleted along with them, and rows whose only change is such an effect.
    func effects(ofDeleting ids: inout Set<Int64>) -> [(number: Int64, done: DeleteEffects)] {
        guard !deleteEffects.effects.isEmpty else { return [] }
        let (layers, frozen) = store.layers.state.withLock { ($0.layers, $0.frozen) }
        let held = undoing.heldSegments
        var pending = ids.sorted()
        var result: [(number: Int64, done: DeleteEffects)] = []
        while let number = pending.popLast() {
            // Otherwise another context has restored the row, a commit is currently writing the delete, or the delete
            // is from before a savepoint.
            guard let done = deleteEffects.effects[number], layers.isDeleted(number, entity: done.entity, in: id),
                !layers.isFrozen(number, entity: done.entity, in: id, frozen),
                !layers.isTopChange(of: number, entity: done.entity, in: id, among: held)
            else { continue }
            deleteEffects.effects[number] = nil
            result.append((number, done))
            for effect in done.effects {
                switch effect {
                case .deleted(let entity, let other):
                    guard layers.isDeleted(other, entity: entity, in: id) else { break }
                    pending.append(other)
                    // Without its insert, nothing would be left of an inserted row.
                    if !layers.isInserted(other, entity: entity, by: id) { ids.insert(other) }
                case .emptied(let entity, let other, let column):
                    let entity = store.schema.entities[entity]
                    if entity.hasOnlyEmptied(column, of: other, from: number, in: layers, context: id) {
                        ids.insert(other)
                    }
                case .removed: break
                }
            }
        }
        return result
    }

    /// Undoes the effects of delete rules for objects that are restored, except for values that were changed since.
    func undo(_ effects: [(number: Int64, done: DeleteEffects)]) throws {
        let layers = store.layers.state.withLock { $0.layers }
        for (_, done) in effects {
            for case .deleted(let entity, let number) in done.effects
            where layers.isInserted(number, entity: entity, by: id) {
                anyTracker(entity)?.insertAgain(number, self)
            }
        }
        if !effects.isEmpty { publish() }
        for (number, done) in effects where try anyObject(number, entity: done.entity) != nil {
            for effect in done.effects { try undo(effect, of: number) }
        }
    }

    private func undo(_ effect: DeleteEffects.Effect, of number: Int64) throws {
        switch effect {
        case .deleted: break
        case .emptied(let entity, let other, let column):
            guard let object = try anyObject(other, entity: entity) else { break }
            func open<Object: Model>(_ object: Object) throws {
                if try object._$row._$value(at: column) == .null { object.setReference(number, at: column) }
            }
            try open(object)
        case .removed(let join, let row):
            let isLeft = row.left == number
            let other = isLeft ? row.right : row.left
            let column = isLeft ? JoinRow.Column.right : JoinRow.Column.left
            let outgoing = store.schema.entities[join].info.outgoing.first { $0.column == column }
            guard let entity = outgoing?.destination else { break }
            if try anyObject(other, entity: entity) != nil {
                try restoreMember(row, join)
            } else {
                // The other object was deleted too. The member returns when that delete is taken back.
                deleteEffects.record(effect, of: other, entity: entity)
            }
        }
    }
}

extension LayerSnapshot {
    /// Whether a context's own layer deletes a row, either one from beneath or one that the layer has inserted.
    func isDeleted(_ number: Int64, entity: Int, in context: Int) -> Bool {
        let kind = topKind(of: number, entity: entity, in: [context])
        return kind == .delete || kind == .cancelledInsert
    }

    /// Whether a context itself has inserted a row that is not saved, including a row that was deleted again.
    func isInserted(_ number: Int64, entity: Int, by context: Int) -> Bool {
        self[context].contains { segment in
            guard segment.provenance == Provenance(context), let part = segment.parts[entity],
                let index = part.index(of: number)
            else { return false }
            return part.kind(at: index) == .insert || part.kind(at: index) == .cancelledInsert
        }
    }

    /// Whether the topmost change of a row in a context's layer is in one of these segments.
    func isTopChange(of number: Int64, entity: Int, in context: Int, among segments: Set<Int>) -> Bool {
        guard !segments.isEmpty else { return false }
        let top = self[context].last { $0.parts[entity]?.index(of: number) != nil }
        return top.map { segments.contains($0.id) } ?? false
    }

    /// Whether a commit in progress has frozen changes of a row.
    func isFrozen(_ number: Int64, entity: Int, in context: Int, _ frozen: [Int: Int]) -> Bool {
        self[context].contains { frozen[$0.id] != nil && $0.parts[entity]?.index(of: number) != nil }
    }
}

extension Entity {
    /// Whether one context has set this column of a row from a certain object to nil, and has changed nothing else.
    func hasOnlyEmptied(
        _ column: Int,
        of number: Int64,
        from target: Int64,
        in layers: LayerSnapshot,
        context: Int
    ) -> Bool {
        let stack = layers.stack(number, entity: info.index, in: context, Row.self).map(\.change)
        guard let base = stack.first?.base, let last = stack.last,
            (try? base.original._$value(at: column)) == .integer(target), (try? last.row._$value(at: column)) == .null
        else { return false }
        return stack.allSatisfy { $0.kind == .update && $0.columns.subtracting(info.derived) == ColumnSet(column) }
    }
}
