/// A to-one column, and rows that have absorbed other rows to which the column may refer.
struct MovedReferences: Sendable {
    let column: Int
    /// The absorbing rows, by the id of the absorbed row.
    let holders: [Int64: Int64]
}

extension LayerSnapshot {
    /// Redirects references in the layers to the rows that have absorbed others.
    mutating func move(_ references: [MovedReferences], entity: Int) {
        for (context, level) in levels {
            let moved = level.map { $0.parts[entity]?.moving(references) }
            guard moved.contains(where: { $0 != nil }) else { continue }
            self[context] = zip(level, moved).map { segment, part in
                var segment = segment
                if let part { segment.parts[entity] = part }
                return segment
            }
        }
    }
}

extension LayerRegistry.State {
    /// Records that the rows of an entity have changed in all layers.
    mutating func recordEvents(ofAll entity: Int) {
        for (context, level) in layers.levels {
            for part in level.compactMap({ $0.parts[entity] }) { log.record(.layer(context), [entity: part]) }
        }
    }
}

extension RowChanges {
    func moving(_ references: [MovedReferences]) -> (any AnyRowChanges)? {
        var hasMoved = false
        let moved = changes.map { change in
            guard let other = change.moving(references) else { return change }
            hasMoved = true
            return other
        }
        return hasMoved ? RowChanges(ids: ids, changes: moved) : nil
    }
}

extension Change {
    /// This change with redirected references; nil if it has none of them.
    func moving(_ references: [MovedReferences]) -> Change? {
        guard kind.isVisible || kind == .updateOfDeleted else { return nil }
        var moved: Change?
        for reference in references {
            guard case .integer(let id)? = try? row._$value(at: reference.column),
                let holder = reference.holders[id]
            else { continue }
            var change = moved ?? self
            // Such a column holds integers, so this succeeds.
            try? change.row._$set(.integer(holder), at: reference.column)
            moved = change
        }
        return moved
    }
}
