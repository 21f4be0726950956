extension ObjectContext {
    /// Objects that were inserted here and not saved, in the order of their ids.
    public func insertedObjects<Object: Model>(_ model: Object.Type) -> [Object] { objects(model) { $0 == .insert } }

    /// Objects that were changed here and not saved, in the order of their ids.
    public func updatedObjects<Object: Model>(_ model: Object.Type) -> [Object] {
        objects(model) { $0.isUpdate }
    }

    /// Objects that were deleted here and not saved, in the order of their ids. Contains only objects that other code
    /// still holds.
    public func deletedObjects<Object: Model>(_ model: Object.Type) -> [Object] { objects(model) { $0 == .delete } }

    private func objects<Object: Model>(_ model: Object.Type, _ isWanted: (ChangeKind) -> Bool) -> [Object] {
        publish()
        guard !isEnded, let entity = try? store.schema.entity(model) else { return [] }
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        return pendingChanges(entity).filter { isWanted($0.kind) }.compactMap { change in
            if let object = live.identity[change.row._$id, Object.self] { return object as? Object }
            guard change.kind.isVisible else { return nil }
            return register(Object(_$row: change.row), entity: entity.info.index)
        }
    }

    /// The changes of this context's layer, merged into one change per row.
    private func pendingChanges<Row: StoredRow>(_ entity: Entity<Row>) -> [Change<Row>] {
        let layers = store.layers.state.withLock { $0.layers }
        var folded: RowChanges<Row>?
        for part in layers.parts(of: entity.info.index, in: [id]) {
            let part = part.typed(Row.self)
            folded = folded?.merged(with: part) { $0.followed(by: $1) } ?? part
        }
        return folded?.changes ?? []
    }

    /// The columns of an object that were changed here and not saved, with their old and new values.
    func changedValues<Object: Model>(_ object: Object) -> [String: ChangedValue] {
        publish()
        guard !isEnded, let entity = try? store.schema.entity(Object.self),
            let change = pendingChanges(entity).first(where: { $0.row._$id == object.id.rawValue })
        else { return [:] }
        var columns = change.kind == .insert ? ColumnSet(first: entity.info.columns.count) : change.columns
        if change.kind == .update, let seen = change.base?.original {
            // A value that was set back to its original value does not count as changed.
            columns = columns.intersection(change.row._$differences(from: seen))
        }
        // A value that an edit after the insert replaced does not count as an old value of the object.
        let base = change.kind == .insert ? nil : change.base
        var result: [String: ChangedValue] = [:]
        for column in columns {
            result[entity.info.columns[column].name] = ChangedValue(
                old: base.flatMap { try? $0.original._$value(at: column) },
                new: (try? change.row._$value(at: column)) ?? .null
            )
        }
        return result
    }
}

/// The old and new value of a changed column.
public struct ChangedValue: Sendable, Hashable {
    /// The previous value of the column; nil for a new object.
    public let old: StoredValue?
    /// The current value of the column.
    public let new: StoredValue
}

extension Model {
    /// The columns that were changed in this context and not saved, by name.
    public var changedValues: [String: ChangedValue] {
        observeChanges()
        return _$link.context?.changedValues(self) ?? [:]
    }

    /// Whether the object has unsaved changes in its context.
    public var hasChanges: Bool { !changedValues.isEmpty }
}
