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
            if trackers[other] == nil { makeTracker(other) }
            for found in try trackers[other]?.delete(column, values, self) ?? [] {
                deleted[other, default: []].append(found.number)
                note(.deleted(entity: other, number: found.number), of: owner(found.value), entity: entity)
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
                    note(.removed(join: other, row: member), of: member.end(column), entity: entity)
                }
            } else if reference.deleteRule == .cascade {
                try delete(other, column, ids) { $0 }
            } else if reference.deleteRule == .nullify {
                if trackers[other] == nil { makeTracker(other) }
                for found in try trackers[other]?.empty(column, ids, self) ?? [] {
                    let emptied = DeleteEffects.Effect.emptied(entity: other, number: found.number, column: column)
                    note(emptied, of: found.value, entity: entity)
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

    /// The live object with this number.
    private func liveObject(_ number: Int64, entity: Int) -> (any Model)? {
        store.schema.model(entity).flatMap { identity[number, $0] } as? any Model
    }

    /// The object with this number, for callers that do not know the model.
    func anyObject(_ number: Int64, entity: Int) throws -> (any Model)? {
        if let object = liveObject(number, entity: entity) { return object._$state.isDeleted ? nil : object }
        if trackers[entity] == nil { makeTracker(entity) }
        return try trackers[entity]?.makeObject(number, self)
    }

    func makeTracker(_ entity: Int) {
        func open<Object: Model>(_ model: Object.Type) { _ = tracker(model, entity) }
        if let model = store.schema.model(entity) { open(model) }
    }

    /// The members of a relationship that this context sees, in the order of their ids.
    ///
    /// - Parameter hidingDuplicates: whether a member appears only once if contexts that did not see each other have
    ///   each added it.
    func joinRows(
        _ join: Int,
        _ column: Int,
        _ number: Int64,
        hidingDuplicates: Bool = false
    ) throws -> [JoinRow] {
        publish()
        let info = store.schema.entities[join].info
        let connection = try currentSnapshot().reader.connection
        var rows: [JoinRow] = []
        let sql = info.selectReferring(
            column,
            isPending: connection.overlay.parts[join] != nil,
            hidingDuplicates: hidingDuplicates
        )
        try connection.statement(sql).run([.integer(number)]) { rows.append(try JoinRow(_$from: $0)) }
        return rows
    }
}

extension ObjectContext {
    /// The members of relationships of these owners that this context sees.
    private func joinRows(_ join: Int, _ column: Int, _ ids: [Int64]) throws -> [JoinRow] {
        var rows: [JoinRow] = []
        try forEachRow(of: store.schema.entities[join].info, column, ids) { rows.append(try JoinRow(_$from: $0)) }
        return rows
    }

    /// Reads the rows that this context sees and whose column holds one of these numbers, by one statement.
    ///
    /// - Parameter column: nil for the id.
    func forEachRow(
        of info: EntityInfo,
        _ column: Int?,
        _ ids: [Int64],
        _ body: (RowReader) throws -> Void
    ) throws {
        publish()
        let connection = try currentSnapshot().reader.connection
        let isPending = connection.overlay.parts[info.index] != nil
        try connection.forEachRow(of: info, column, ids, isPending: isPending, body)
    }
}

extension Connection {
    /// Reads the rows whose column holds one of these numbers, by one statement.
    ///
    /// - Parameters:
    ///   - column: a reference; nil for the id.
    ///   - isPending: whether the overlay contains rows of the entity.
    func forEachRow(
        of info: EntityInfo,
        _ column: Int?,
        _ ids: [Int64],
        isPending: Bool = false,
        _ body: (RowReader) throws -> Void
    ) throws {
        if let column, ids.count == 1 {
            try statement(info.selectReferring(column, isPending: isPending)).run([.integer(ids[0])], body)
        } else if !ids.isEmpty {
            let list = ListText.json(ids.map { .integer($0) })
            try statement(info.selectAny(column, isPending: isPending)).run([.text(list)], body)
        }
    }
}

extension EntityInfo {
    /// The ids of the rows that a context sees and whose to-one column refers to an object.
    func numbers(in context: ObjectContext, column: Int, leadingTo number: Int64) throws -> [Int64] {
        context.publish()
        let connection = try context.currentSnapshot().reader.connection
        var ids: [Int64] = []
        let sql = selectReferring(column, isPending: connection.overlay.parts[index] != nil)
        try connection.statement(sql).run([.integer(number)]) { ids.append(try $0.read(Int64.self, at: 0)) }
        return ids
    }

    /// A query for the rows whose column holds one of the numbers in a JSON array, in any order.
    ///
    /// - Parameter column: nil for the id.
    fileprivate func selectAny(_ column: Int?, isPending: Bool) -> String {
        let source = isPending ? Overlay.source(self, hidingDuplicates: false) + " AS rows" : sql.table
        let name = column.map { sql.columns[$0] } ?? "\"id\""
        return "SELECT \(sql.columnList) FROM \(source) WHERE \(name) IN (SELECT value FROM json_each(?))"
    }

    /// A query for the rows whose to-one column refers to an object, in the order of their ids.
    func selectReferring(_ column: Int, isPending: Bool, hidingDuplicates: Bool = false) -> String {
        guard isPending else { return sql.selectReferring[column] }
        let source = Overlay.source(self, hidingDuplicates: hidingDuplicates) + " AS rows"
        return "SELECT \(sql.columnList) FROM \(source) WHERE \(sql.columns[column]) = ? ORDER BY \"id\""
    }
}
