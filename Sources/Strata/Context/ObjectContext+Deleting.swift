extension ObjectContext {
    /// Carries out the delete rules of an object that is deleted, as far as this context sees (C9). Rules that deny are
    /// left to the save.
    func applyDeleteRules(entity: Int, number: Int64) throws {
        let info = store.schema.entities[entity].info
        for relationship in info.relationships {
            guard case .join(let join, let own, let other, _) = relationship.storage,
                relationship.deleteRule == .cascade
            else { continue }
            for member in try joinRows(join, own, number) {
                let member = other == 0 ? member.left : member.right
                if try deleteObject(member, entity: relationship.destination) {
                    note(.deleted(entity: relationship.destination, number: member), of: number, entity: entity)
                }
            }
        }
        for reference in info.incoming {
            let referring = store.schema.entities[reference.entity].info
            if referring.isJoin {
                for member in try joinRows(reference.entity, reference.column, number) {
                    joinTracker(reference.entity).delete(member, self)
                    note(.removed(join: reference.entity, row: member), of: number, entity: entity)
                }
            } else if reference.deleteRule == .cascade {
                for child in try referring.numbers(in: self, column: reference.column, leadingTo: number) {
                    if try deleteObject(child, entity: reference.entity) {
                        note(.deleted(entity: reference.entity, number: child), of: number, entity: entity)
                    }
                }
            } else if reference.deleteRule == .nullify {
                for child in try referring.numbers(in: self, column: reference.column, leadingTo: number) {
                    if try emptyReference(child, entity: reference.entity, column: reference.column) {
                        let emptied = DeleteEffects.Effect.emptied(
                            entity: reference.entity,
                            number: child,
                            column: reference.column
                        )
                        note(emptied, of: number, entity: entity)
                    }
                }
            }
        }
        for reference in info.outgoing where reference.deleteRule == .cascade {
            guard let destination = try self.reference(of: number, entity: entity, column: reference.column) else {
                continue
            }
            if try deleteObject(destination, entity: reference.destination) {
                note(.deleted(entity: reference.destination, number: destination), of: number, entity: entity)
            }
        }
    }

    /// Says whether there was something to delete.
    private func deleteObject(_ number: Int64, entity: Int) throws -> Bool {
        guard let object = try anyObject(number, entity: entity) else { return false }
        func open<Object: Model>(_ object: Object) { delete(object) }
        open(object)
        return true
    }

    /// Says whether there was an object.
    private func emptyReference(_ number: Int64, entity: Int, column: Int) throws -> Bool {
        guard let object = try anyObject(number, entity: entity) else { return false }
        func open<Object: Model>(_ object: Object) throws {
            object._$willChange(column)
            try object._$row._$set(.null, at: column)
        }
        try open(object)
        return true
    }

    /// The number that a to-one column of a deleted row holds.
    private func reference(of number: Int64, entity: Int, column: Int) throws -> Int64? {
        guard let object = liveObject(number, entity: entity) else { return nil }
        func open<Object: Model>(_ object: Object) throws -> Int64? {
            guard case .integer(let number) = try object._$row._$value(at: column) else { return nil }
            return number
        }
        return try open(object)
    }

    /// The object with this number that lives here.
    private func liveObject(_ number: Int64, entity: Int) -> (any Model)? {
        store.schema.model(entity).flatMap { identity[number, $0] } as? any Model
    }

    /// The object with this number, of whichever model.
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
    /// - Parameter hidingDuplicates: whether a member that was added by contexts which did not see each other comes once.
    func joinRows(
        _ join: Int,
        _ column: Int,
        _ number: Int64,
        hidingDuplicates: Bool = false
    ) throws -> [JoinRow] {
        publish()
        let info = store.schema.entities[join].info
        let connection = try currentView().reader.connection
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

extension EntityInfo {
    /// The ids of the rows that a context sees and whose to-one column leads to an object.
    func numbers(in context: ObjectContext, column: Int, leadingTo number: Int64) throws -> [Int64] {
        context.publish()
        let connection = try context.currentView().reader.connection
        var numbers: [Int64] = []
        let sql = selectReferring(column, isPending: connection.overlay.parts[index] != nil)
        try connection.statement(sql).run([.integer(number)]) { numbers.append(try $0.read(Int64.self, at: 0)) }
        return numbers
    }

    /// The rows whose to-one column leads to an object, in the order of their ids.
    func selectReferring(_ column: Int, isPending: Bool, hidingDuplicates: Bool = false) -> String {
        guard isPending else { return sql.selectReferring[column] }
        let source = Overlay.source(self, hidingDuplicates: hidingDuplicates) + " AS rows"
        return "SELECT \(sql.columnList) FROM \(source) WHERE \(sql.columns[column]) = ? ORDER BY \"id\""
    }
}
