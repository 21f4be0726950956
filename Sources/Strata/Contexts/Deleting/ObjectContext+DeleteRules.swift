extension ObjectContext {
    /// Applies the delete rules of deleted objects, and of all objects deleted as a consequence, to the rows that this
    /// context sees. The save checks the rules that deny a delete.
    ///
    /// The rules run in rounds. For all objects of one model that were deleted in the same round, one query for each
    /// relationship finds the affected rows.
    ///
    /// - Parameter deleted: the numbers of the objects, by entity.
    func applyDeleteRules(of deleted: [Int: [Int64]]) throws {
        var round = deleted
        while !round.isEmpty {
            var next: [Int: [Int64]] = [:]
            for (entity, ids) in round.sorted(by: { $0.key < $1.key }) {
                for (entity, found) in try applyDeleteRules(entity: entity, ids) where !found.isEmpty {
                    next[entity, default: []] += found
                }
            }
            round = next
        }
    }

    /// Returns the numbers of the objects that are deleted as a consequence, by entity.
    private func applyDeleteRules(entity: Int, _ ids: [Int64]) throws -> [Int: [Int64]] {
        let info = store.schema.entities[entity].info
        var deleted: [Int: [Int64]] = [:]
        /// Deletes objects whose column holds one of the values; if the column is nil, the objects with these numbers.
        func delete(_ other: Int, _ column: Int?, _ values: [Int64], owner: (Int64) -> Int64) throws {
            for found in try anyTracker(other)?.delete(column, values, self) ?? [] {
                deleted[other, default: []].append(found.number)
                let effect = DeleteEffects.Effect.deleted(entity: other, number: found.number)
                deleteEffects.record(effect, of: owner(found.value), entity: entity)
            }
        }
        /// Deletes the objects that the deleted ones refer to.
        func delete(_ other: Int, _ destinations: [(owner: Int64, number: Int64)]) throws {
            let owners = Dictionary(destinations.map { ($0.number, $0.owner) }) { first, _ in first }
            if !owners.isEmpty { try delete(other, nil, owners.keys.sorted()) { owners[$0] ?? 0 } }
        }
        for relationship in info.relationships {
            guard case .join(let join, let own, let other, _) = relationship.storage,
                relationship.deleteRule == .cascade
            else { continue }
            try delete(relationship.destination, try joinRows(join, own, ids).map { ($0.end(own), $0.end(other)) })
        }
        for reference in info.incoming {
            let (other, column) = (reference.entity, reference.column)
            if store.schema.entities[other].info.isJoin {
                for member in try joinRows(other, column, ids) {
                    joinTracker(other).delete(member, self)
                    deleteEffects.record(.removed(join: other, row: member), of: member.end(column), entity: entity)
                }
            } else if reference.deleteRule == .cascade {
                try delete(other, column, ids) { $0 }
            } else if reference.deleteRule == .nullify {
                for found in try anyTracker(other)?.empty(column, ids, self) ?? [] {
                    let emptied = DeleteEffects.Effect.emptied(entity: other, number: found.number, column: column)
                    deleteEffects.record(emptied, of: found.value, entity: entity)
                }
            }
        }
        for reference in info.outgoing where reference.deleteRule == .cascade {
            try delete(reference.destination, references(of: ids, entity: entity, column: reference.column))
        }
        return deleted
    }

    /// The numbers that a to-one column of deleted rows holds.
    private func references(of deleted: [Int64], entity: Int, column: Int) throws -> [(owner: Int64, number: Int64)] {
        publish()
        let layers = try currentSnapshot().layers
        return try deleted.compactMap { owner in
            guard case .integer(let number) = try layers.value(of: owner, entity: entity, column, in: path) else {
                return nil
            }
            return (owner, number)
        }
    }

    /// The members of relationships of these owners that this context sees.
    private func joinRows(_ join: Int, _ column: Int, _ ids: [Int64]) throws -> [JoinRow] {
        var rows: [JoinRow] = []
        try forEachRow(of: store.schema.entities[join].info, column, ids) { rows.append(try JoinRow(_$from: $0)) }
        return rows
    }
}
