/// Inserted objects with the unique values of existing objects, for models that declare ``UniqueConflict/update``.
extension ObjectContext {
    /// Turns such inserts into edits of the existing objects.
    ///
    /// The write repeats the look-up. A save does so in ``isUpToDate(_:_:)``, a commit in its transaction in
    /// ``CommitJob/mergeDuplicateInserts()``.
    ///
    /// - Complexity: O(inserted objects), each with a look-up for each of its unique values.
    func mergeDuplicateInserts(_ prepared: inout PreparedSave) throws {
        for index in store.schema.updating {
            let info = store.schema.entities[index].info
            let inserted = try uncheckedInserts(info)
            // The inserted values replace the existing object's values, however new these are. The newest snapshot is
            // therefore taken first.
            if !inserted.isEmpty { try prepared.recordBasis(acquireSnapshot(), path) }
            for number in inserted {
                // An earlier iteration may have absorbed this object, or changed its unique value.
                guard let object = try anyObject(number, entity: index),
                    let holder = try holder(of: object, info),
                    let other = try anyObject(holder, entity: index)
                else { continue }
                try prepared.recordMergeTarget(other, entity: index, changeBeneath(other, info))
                try mergeDuplicateInsert(object, into: other, info)
                publish()
            }
        }
    }

    /// Whether an inserted object has the unique values of another object that has not absorbed it.
    func hasUnmergedDuplicates() throws -> Bool {
        try store.schema.updating.contains { index in
            let info = store.schema.entities[index].info
            return try uncheckedInserts(info).contains { number in
                try anyObject(number, entity: index).map { try holder(of: $0, info) != nil } ?? false
            }
        }
    }

    /// The visible rows that this context's layer inserts, in the order of their ids.
    ///
    /// In a savepoint, rows that an earlier save has checked are left out, unless a later change has set the same
    /// unique values.
    private func uncheckedInserts(_ info: EntityInfo) throws -> [Int64] {
        if undoing.checkedSegments.isEmpty { return store.layers.inserted(entity: info.index, in: id) }
        let layers = store.layers.state.withLock { $0.layers }
        var inserts: Set<Int64> = []
        for number in Set(undoing.unchecked(layers[id]).flatMap { $0.parts[info.index]?.ids ?? [] }) {
            guard let object = try anyObject(number, entity: info.index) else { continue }
            for row in try [number] + info.updating.flatMap({ try others(like: object, info, $0) })
            where layers.hasInserted(row, entity: info.index, in: id) {
                inserts.insert(row)
            }
        }
        return inserts.sorted()
    }

    /// Returns a function that later reports whether an object's row beneath this context's layer has changed.
    private func changeBeneath(_ object: any Model, _ info: EntityInfo) throws -> (ReadSnapshot) throws -> Bool {
        func open<Object: Model>(_ object: Object) throws -> (ReadSnapshot) throws -> Bool {
            let entity = store.schema.entities[info.index].typed(Object.Row.self)
            let (number, parents) = (object.id.rawValue, Array(path.dropLast()))
            let before = try entity.read(number, in: currentSnapshot(), parents)
            return { snapshot in
                switch (before, try entity.read(number, in: snapshot, parents)) {
                case (nil, nil): false
                case (let before?, let now?): !now._$differences(from: before).isEmpty
                default: true
                }
            }
        }
        return try open(object)
    }

    /// The id of the object that has the same unique values. Of two objects that this context has inserted, it is the
    /// earlier one.
    private func holder(of object: any Model, _ info: EntityInfo) throws -> Int64? {
        let number = object.storedID
        for unique in info.updating {
            let others = try others(like: object, info, unique)
            // If the other object was inserted here later, this object absorbs it in a later iteration.
            let holder = others.first { $0 < number || !store.layers.hasInserted($0, entity: info.index, in: id) }
            if let holder { return holder }
        }
        return nil
    }

    /// The ids of the other rows that have an object's values in unique columns.
    private func others(like object: any Model, _ info: EntityInfo, _ unique: [Int]) throws -> [Int64] {
        let key = try unique.map { try object.storedValue(at: $0) }
        if key.contains(.null) { return [] }
        let connection = try currentSnapshot().reader.connection
        let sql = info.selectHolders(unique, isPending: connection.overlay.parts[info.index] != nil)
        return try connection.numbers(sql, key + [.integer(object.storedID)])
    }

    private func mergeDuplicateInsert(_ object: any Model, into other: any Model, _ info: EntityInfo) throws {
        func open<Object: Model>(_ object: Object) throws {
            guard let other = other as? Object else { return }
            noteTurn()
            let columns = object._$row._$differences(from: other._$row).subtracting(info.automatic)
            for column in columns { other._$willChange(column) }
            other._$row._$copy(columns, from: object._$row)
            try moveReferences(from: object.storedID, to: other, info)
            // The delete rules are not applied, because everything that belonged to the deleted object now belongs to
            // the other one.
            tracker(Object.self, info.index).delete(object, in: self)
            observers?.willChange(object.storedID, ContextObservers.Facet.isDeleted)
        }
        try open(object)
    }

    /// Redirects all references to one object to another object.
    private func moveReferences<Object: Model>(from number: Int64, to other: Object, _ info: EntityInfo) throws {
        for reference in info.incoming {
            let referring = store.schema.entities[reference.entity].info
            let column = reference.column
            if !referring.isJoin {
                let ids = try referring.numbers(in: self, column: column, leadingTo: number)
                guard !ids.isEmpty else { continue }
                if referring.oneToOne.contains(column) {
                    try clearReferences(of: referring, at: column, to: other.storedID)
                }
                for number in ids {
                    try anyObject(number, entity: reference.entity)?.setReference(other.storedID, at: column)
                }
                continue
            }
            let rows = try joinRows(reference.entity, column, number, hidingDuplicates: true)
                .sorted { ($0.place(column) ?? .infinity, $0._$id) < ($1.place(column) ?? .infinity, $1._$id) }
            let destination = referring.outgoing.first { $0.column == 1 - column }?.destination
            for row in try joinRows(reference.entity, column, number) {
                joinTracker(reference.entity).delete(row, self)
            }
            for row in rows {
                let end = row.end(1 - column)
                guard let destination,
                    let member = end == number ? other : try anyObject(end, entity: destination)
                else { continue }
                try addPair(reference.entity, column, other, member, isMember: true)
            }
        }
    }
}

extension Model {
    fileprivate func storedValue(at column: Int) throws -> StoredValue { try _$row._$value(at: column) }
}

extension LayerRegistry {
    /// Whether a context's layer inserts rows of some entities.
    func hasInserted(_ entities: [Int], in context: Int) -> Bool {
        if entities.isEmpty { return false }
        return state.withLock { state in
            state.layers[context].contains { segment in
                entities.contains { segment.parts[$0]?.kinds.contains(.insert) ?? false }
            }
        }
    }

    /// Whether a context's layer inserts a row.
    fileprivate func hasInserted(_ number: Int64, entity: Int, in context: Int) -> Bool {
        state.withLock { $0.layers.hasInserted(number, entity: entity, in: context) }
    }

    /// The visible rows that a context's layer inserts, in the order of their ids.
    fileprivate func inserted(entity: Int, in context: Int) -> [Int64] {
        let layers = state.withLock { $0.layers }
        var ids: Set<Int64> = []
        for part in layers[context].compactMap({ $0.parts[entity] }) where part.kinds.contains(.insert) {
            for (index, number) in part.ids.enumerated() where part.kind(at: index) == .insert {
                if layers.topKind(of: number, entity: entity, in: [context])?.isVisible ?? false {
                    ids.insert(number)
                }
            }
        }
        return ids.sorted()
    }
}

extension EntityInfo {
    /// A query for the ids of the other rows with certain values that a context sees. The values are the first
    /// parameters; the id of the row to exclude is the last one.
    fileprivate func selectHolders(_ columns: [Int], isPending: Bool) -> String {
        let source = isPending ? Overlay.source(self) + " AS rows" : sql.table
        let conditions = columns.map { "\(sql.columns[$0]) = ?" }.joined(separator: " AND ")
        return "SELECT \"id\" FROM \(source) WHERE \(conditions) AND \"id\" <> ? ORDER BY \"id\""
    }
}
