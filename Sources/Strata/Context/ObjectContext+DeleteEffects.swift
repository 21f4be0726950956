/// What the delete rules of one object have done to others in its context, until that is saved or rolled back.
struct DeleteEffects {
    enum Effect {
        /// This object was deleted.
        case deleted(Int64)
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
        if isSaving { return }
        deleteEffects[number, default: DeleteEffects(entity: entity)].effects.append(effect)
    }

    /// Forgets what deletes have done that are saved now.
    func forgetSavedDeletes() {
        guard !deleteEffects.isEmpty else { return }
        publish()
        let layers = store.layers.state.withLock { $0.layers }
        deleteEffects = deleteEffects.filter { number, done in
            layers.topKind(of: number, entity: done.entity, in: [id]) == .delete
        }
    }

    /// What is to be undone where the edits of some rows are dropped. Adds the rows that were deleted with them, and those of
    /// which nothing else was changed.
    func effects(ofDeleting numbers: inout Set<Int64>) -> [(number: Int64, done: DeleteEffects)] {
        guard !deleteEffects.isEmpty else { return [] }
        let layers = store.layers.state.withLock { $0.layers }
        var pending = numbers.sorted()
        var result: [(number: Int64, done: DeleteEffects)] = []
        while let number = pending.popLast() {
            guard let done = deleteEffects.removeValue(forKey: number) else { continue }
            result.append((number, done))
            for effect in done.effects {
                switch effect {
                case .deleted(let other): if numbers.insert(other).inserted { pending.append(other) }
                case .emptied(let entity, let other, let column):
                    let entity = store.schema.entities[entity]
                    if entity.hasOnlyEmptied(column, of: other, in: layers, context: id) {
                        numbers.insert(other)
                    }
                case .removed: break
                }
            }
        }
        return result
    }

    /// Gives an object that is back what its delete rules have taken from it, as far as nobody has changed that since.
    func undo(_ done: DeleteEffects, of number: Int64) throws {
        guard try anyObject(number, entity: done.entity) != nil else { return }
        for effect in done.effects {
            switch effect {
            case .deleted: break
            case .emptied(let entity, let other, let column):
                guard let object = try anyObject(other, entity: entity) else { break }
                func open<Object: Model>(_ object: Object) throws {
                    if try object._$row._$value(at: column) == .null { object.setReference(number, at: column) }
                }
                try open(object)
            case .removed(let join, let row):
                try restorePair(row, join)
            }
        }
    }
}

extension Entity {
    /// Whether one context has emptied this column of a row and changed nothing else.
    func hasOnlyEmptied(_ column: Int, of number: Int64, in layers: Layers, context: Int) -> Bool {
        let stack = layers.stack(number, entity: info.index, in: context, Row.self)
        guard let last = stack.last?.change, (try? last.row._$value(at: column)) == .null else { return false }
        return stack.allSatisfy { $0.change.kind == .update && $0.change.columns == ColumnSet(column) }
    }
}
