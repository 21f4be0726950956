extension ObjectContext {
    /// Inserts an object that accompanies another object inserted in this context, under the same id.
    package func insert<Object: Model, Owner: Model>(_ object: Object, with owner: Owner) {
        insert(object, number: owner.id.rawValue)
    }

    /// Refuses the id of another store.
    ///
    /// An id is accepted if this context's store assigned it, or if the store is a copy of the file that assigned it.
    /// An unassigned id counts as missing and is not refused.
    ///
    /// - Throws: ``StrataError`` with `idOfOtherStore`.
    package func refuseForeign<Object: Model>(_ id: ObjectID<Object>) throws {
        guard id.isAssigned, !store.identity.knows(fingerprint: id.fingerprint, number: id.rawValue) else { return }
        throw StrataError(
            .idOfOtherStore,
            "\(id) belongs to another store. An id is valid only in the store that created it."
        )
    }

    /// Inserts an object under an id that ``ContextStack/newID(for:)`` returned earlier. Returns nil if the id is
    /// already in use.
    package func insert<Object: Model>(_ object: Object, as id: ObjectID<Object>) throws -> Object? {
        // An id is used once, so an object that was deleted in this context also counts.
        guard try topKind(of: id, in: path) == nil, try find(id) == nil else { return nil }
        return insert(object, number: id.rawValue)
    }

    /// Whether this context or a parent has deleted an object of the store, and the delete is not committed.
    package func hasDeleted<Object: Model>(_ id: ObjectID<Object>) throws -> Bool {
        try topKind(of: id, in: path) == .delete
    }

    /// Whether this context has an unsaved change of an object.
    ///
    /// - Complexity: does not depend on the number of other changed objects.
    package func hasUnsavedChange<Object: Model>(of object: ObjectID<Object>) throws -> Bool {
        try topKind(of: object, in: [id]) != nil
    }

    /// The kind of an object's topmost change in these contexts.
    private func topKind<Object: Model>(of object: ObjectID<Object>, in contexts: [Int]) throws -> ChangeKind? {
        let entity = try store.schema.entity(Object.self)
        publish()
        return try currentSnapshot().layers.topKind(of: object.rawValue, entity: entity.info.index, in: contexts)
    }
}

extension Model {
    /// The context that the object belongs to; nil before it is inserted.
    package var owningContext: ObjectContext? { _$link.context }
}
