/// What the delete rules of one object have done to others in its context, until that is saved or rolled back.
struct DeleteEffects {
    enum Effect {
        /// This object was deleted.
        case deleted(entity: Int, number: Int64)
        /// The to-one column of this object was emptied.
        case emptied(entity: Int, number: Int64, column: Int)
        /// This member of a relationship was removed.
        case removed(join: Int, row: JoinRow)
    }

    /// The entity of the deleted object.
    let entity: Int
    var effects: [Effect] = []
}

extension ObjectContext {
    /// Notes what a delete rule has done. What a save does once more it takes back itself where it fails.
    func note(_ effect: DeleteEffects.Effect, of number: Int64, entity: Int) {
        if isReapplyingRules { return }
        deleteEffects[number, default: DeleteEffects(entity: entity)].effects.append(effect)
    }

    /// Forgets what deletes have done that are saved now.
    func forgetSavedDeletes() {
        guard !deleteEffects.isEmpty else { return }
        publish()
        let layers = store.layers.state.withLock { $0.layers }
        deleteEffects = deleteEffects.filter { layers.isDeleted($0, entity: $1.entity, in: id) }
    }

    /// What is to be undone where the edits of some rows are dropped. Adds the rows that were deleted with them, and those of
    /// which nothing else was changed.
    func effects(ofDeleting numbers: inout Set<Int64>) -> [(number: Int64, done: DeleteEffects)] {
        guard !deleteEffects.isEmpty else { return [] }
        let (layers, frozen) = store.layers.state.withLock { ($0.layers, $0.frozen) }
        var pending = numbers.sorted()
        var result: [(number: Int64, done: DeleteEffects)] = []
        while let number = pending.popLast() {
            // Else somebody else has brought it back, or a commit is just writing the delete.
            guard let done = deleteEffects[number], layers.isDeleted(number, entity: done.entity, in: id),
                !layers.isFrozen(number, entity: done.entity, in: id, frozen)
            else { continue }
            deleteEffects[number] = nil
            result.append((number, done))
            for effect in done.effects {
                switch effect {
                case .deleted(let entity, let other):
                    guard layers.isDeleted(other, entity: entity, in: id) else { break }
                    pending.append(other)
                    // Of an insert there would be nothing left.
                    if !layers.isInserted(other, entity: entity, by: id) { numbers.insert(other) }
                case .emptied(let entity, let other, let column):
                    let entity = store.schema.entities[entity]
                    if entity.hasOnlyEmptied(column, of: other, from: number, in: layers, context: id) {
                        numbers.insert(other)
                    }
                case .removed: break
                }
            }
        }
        return result
    }

    /// Gives objects that are back what their delete rules have taken from them, as far as nobody has changed that since.
    func undo(_ effects: [(number: Int64, done: DeleteEffects)]) throws {
        let layers = store.layers.state.withLock { $0.layers }
        for (_, done) in effects {
            for case .deleted(let entity, let number) in done.effects
            where layers.isInserted(number, entity: entity, by: id) {
                if trackers[entity] == nil { makeTracker(entity) }
                trackers[entity]?.insertAgain(number, self)
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
                // It was deleted as well, and has its members again where that is taken back.
                note(effect, of: other, entity: entity)
            }
        }
    }
}

extension Layers {
    /// Whether a context's own layer deletes a row, of those beneath or of its own.
    func isDeleted(_ number: Int64, entity: Int, in context: Int) -> Bool {
        let kind = topKind(of: number, entity: entity, in: [context])
        return kind == .delete || kind == .withdrawn
    }

    /// Whether a row was inserted by a context itself and is not saved, also where it was deleted again.
    func isInserted(_ number: Int64, entity: Int, by context: Int) -> Bool {
        self[context].contains { segment in
            guard segment.carriers == Carriers(context), let part = segment.parts[entity],
                let index = part.index(of: number)
            else { return false }
            return part.kind(at: index) == .insert || part.kind(at: index) == .withdrawn
        }
    }

    /// Whether a commit under way holds changes of a row in place.
    func isFrozen(_ number: Int64, entity: Int, in context: Int, _ frozen: [Int: Int]) -> Bool {
        self[context].contains { frozen[$0.id] != nil && $0.parts[entity]?.index(of: number) != nil }
    }
}

extension Entity {
    /// Whether one context has emptied this column of a row, which led to a certain object, and changed nothing else.
    func hasOnlyEmptied(
        _ column: Int,
        of number: Int64,
        from target: Int64,
        in layers: Layers,
        context: Int
    ) -> Bool {
        let stack = layers.stack(number, entity: info.index, in: context, Row.self).map(\.change)
        guard let base = stack.first?.base, let last = stack.last,
            (try? base.seen._$value(at: column)) == .integer(target), (try? last.row._$value(at: column)) == .null
        else { return false }
        return stack.allSatisfy { $0.kind == .update && $0.columns.subtracting(info.derived) == ColumnSet(column) }
    }
}
