extension ObjectContext {
    /// The object with this id. It comes from memory if it is live in this context, otherwise from the layers and the
    /// store. The result is nil if the object does not exist or was deleted.
    ///
    /// - Throws: ``StrataError`` with `idOfOtherStore` for an id of another store, or if the store cannot be read.
    /// - Complexity: O(1) from memory, otherwise one look-up by key.
    public func find<Object: Model>(_ id: ObjectID<Object>) throws -> Object? {
        if let object = live.identity[id.rawValue, Object.self],
            id.fingerprint == store.ids.fingerprint
        {
            let object = unsafeDowncast(object, to: Object.self)  // the look-up compares the type
            return object._$state.isDeleted ? nil : object
        }
        guard id.isAssigned else { return nil }
        try refuseForeign(id)
        let entity = try store.schema.entity(Object.self)
        return try object(id.rawValue, entity: entity, Object.self)
    }

    /// The objects with these ids, in the order of the ids. Missing and deleted objects are left out.
    ///
    /// - Throws: as ``find(_:)-(ObjectID<Object>)``.
    /// - Complexity: for each id O(1) from memory, otherwise one look-up by key.
    public func find<Object: Model>(_ ids: some Sequence<ObjectID<Object>>) throws -> [Object] {
        try ids.compactMap { try find($0) }
    }

    /// The object with this number.
    func object<Object: Model>(_ number: Int64, entity: Entity<Object.Row>, _ model: Object.Type) throws -> Object? {
        if let object = live.identity[number, Object.self] {
            let object = unsafeDowncast(object, to: Object.self)  // the look-up compares the type
            return object._$state.isDeleted ? nil : object
        }
        let connection = try currentConnection()
        // If the overlay is empty, no layer has changed the row.
        if !connection.overlay.parts.isEmpty,
            let kind = reading.snapshot?.layers.topKind(of: number, entity: entity.info.index, in: path)
        {
            let object: Object? = kind.isVisible ? pendingObject(number, entity.info.index) : nil
            if hookQueue.hasFetchHooks { runHooksAfterFetch() }
            return object
        }
        // A hook may use the same statement, so the statement is reset before the hooks run.
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        let statement = try connection.statement(.selectByID(entity.info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        guard try statement.step() else { return nil }
        return try make(from: statement.reader, number, entity: entity.info.index)
    }

    /// The live object with this number.
    private func liveObject(_ number: Int64, entity: Int) -> (any Model)? {
        store.schema.model(entity).flatMap { live.identity[number, $0] } as? any Model
    }

    /// The object with this number, for callers that do not know the model.
    func anyObject(_ number: Int64, entity: Int) throws -> (any Model)? {
        if let object = liveObject(number, entity: entity) { return object._$state.isDeleted ? nil : object }
        return try anyTracker(entity)?.makeObject(number, self)
    }

    /// Reads an object again without dropping changes made in this context.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func refresh<Object: Model>(_ object: Object) throws {
        guard object._$link.context === self else { return }
        publish()
        if !reading.isPinned { try acquireSnapshot() }
        let entity = store.schema.entities[Int(object._$state.entity)].typed(Object.Row.self)
        let row = try entity.read(object.id.rawValue, in: currentSnapshot(), path)
        tracker(Object.self, entity.info.index).show(row, in: object)
    }
}

extension Model {
    /// The same object in another context; nil if that context does not see the object.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func `in`(_ context: ObjectContext) throws -> Self? {
        if _$link.context === context { return self }
        return try context.find(id)
    }
}
