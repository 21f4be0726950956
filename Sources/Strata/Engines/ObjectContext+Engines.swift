extension ObjectContext {
    /// A commit, and what an engine does behind it in the same transaction, also where there is nothing to commit.
    ///
    /// - Parameters:
    ///   - prepared: called once nothing is left to do but to write, before the transaction.
    ///   - body: what the engine does, in the transaction.
    /// - Throws: as ``commit()``, and what `body` throws; then nothing is committed.
    package func commit(
        author: String,
        prepared: () -> Void = {},
        alongside body: @escaping @Sendable (StoreTransaction) throws -> Void
    ) throws {
        var pending = try beginCommit()
        prepared()
        (pending.alongside, pending.isAhead) = ((author, body), readRecord != nil)
        try carryOut(pending)
    }

    /// Inserts an object that goes with another one which was made here, under the same number.
    package func insert<Object: Model, Owner: Model>(_ object: Object, with owner: Owner) {
        insert(object, number: owner.id.number)
    }

    /// Refuses an id that neither this context's store handed out nor the file that it is a copy of. An unassigned one is missing, not foreign.
    ///
    /// - Throws: ``StrataError`` with `foreignID`.
    package func refuseForeign<Object: Model>(_ id: ObjectID<Object>) throws {
        guard id.isAssigned, !store.identity.knows(fingerprint: id.fingerprint, number: id.number) else { return }
        throw StrataError(.foreignID, "\(id) belongs to another store. Ids are good in the store that handed them out.")
    }

    /// Inserts an object under an id that was handed out before by ``ContextStack/newID(for:)``. Nil where it is taken.
    package func insert<Object: Model>(_ object: Object, as id: ObjectID<Object>) throws -> Object? {
        // Also where it was deleted here: an id is used once.
        let entity = try store.schema.entity(Object.self)
        publish()
        let isKnown = try currentView().layers.topKind(of: id.number, entity: entity.info.index, in: path) != nil
        guard !isKnown, try find(id) == nil else { return nil }
        return insert(object, number: id.number)
    }
}
