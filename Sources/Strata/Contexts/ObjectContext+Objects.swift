extension ObjectContext {
    // MARK: Inserting

    /// Makes an object part of this context and assigns its permanent id.
    ///
    /// An object that already belongs to this context is unchanged. If the object was deleted here, the next save
    /// refuses it. Objects to which it was related before the insert are inserted with it.
    ///
    /// An insert fails if the object belongs to another context, if its model is not among the stack's models, or if
    /// the store cannot reserve ids. The object then stays outside the context. The next ``save()`` or ``commit()``
    /// tries again and throws the reason, so that no failure goes unnoticed.
    ///
    /// Complexity: O(1).
    @discardableResult
    public func insert<Object: Model>(_ object: Object) -> Object { insert(object, number: nil) }

    /// - Parameter number: the number of an id that was assigned earlier; nil for a new id.
    @discardableResult
    func insert<Object: Model>(_ object: Object, number: Int64?) -> Object {
        do {
            try tryInsert(object, number)
        } catch {
            failedInserts.removeAll { $0.object === object }
            failedInserts.append((object, error))
        }
        return object
    }

    private func tryInsert<Object: Model>(_ object: Object, _ number: Int64? = nil) throws(StrataError) {
        let pending: PendingRelationships?
        switch object._$link.owner {
        case .context(let owner):
            guard owner !== self else { return noteUse(ofDeleted: object) }
            throw StrataError(
                .invalidState,
                "The object belongs to another context. Find it here by its id, and roll this one back.",
                details: [detail(of: object, "belongs to another context")]
            )
        case .pending(let made): pending = made
        case .none: pending = nil
        }
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        do {
            let entity = try store.schema.index(of: Object.self)
            let id = ObjectID<Object>(rawValue: try number ?? store.ids.take(), fingerprint: store.ids.fingerprint)
            let tracker = tracker(Object.self, entity)
            if !isTracked { startTracking() }
            Object._$insert(object, id, ObjectLink(self), tracker.stateOfInsert)
            identity.insert(object, id.rawValue)
            tracker.noteInsert(object)
        } catch {
            throw StrataError(grdb: error)
        }
        if let pending { inTurn { $0.carryOut(pending, of: object) } }
    }

    /// Applies the relationships that an object had before its insert. All related objects are inserted too.
    private func carryOut<Object: Model>(_ pending: PendingRelationships, of object: Object) {
        for (column, destination) in pending.one.sorted(by: { $0.key < $1.key }) {
            insertAny(destination)
            guard destination._$link.context == nil || destination._$link.context === self else { continue }
            let number = destination.storedID
            object.setReference(number == 0 ? nil : number, at: column)
        }
        for (relationship, members) in pending.many.sorted(by: { $0.key < $1.key }) {
            func add<Member: Model>(_ member: Member) {
                Many<Member>(_$owner: object, relationship: relationship).insert(member)
            }
            for member in members { insertAny(member) }
            // Members come after their own relationships. If several owners claim a member, the last one has it.
            inTurn { _ in
                for member in members { add(member) }
            }
        }
        for leading in pending.referrers {
            if let other = leading.object as? any Model, other._$link.context == nil { insertAny(other) }
        }
    }

    func insertAny(_ object: any Model) {
        func open<Object: Model>(_ object: Object) { insert(object) }
        open(object)
    }

    /// Retries inserts that have failed.
    func retryFailedInserts() throws {
        guard !failedInserts.isEmpty else { return }
        let failed = failedInserts
        failedInserts.removeAll()
        for (object, _) in failed { insertAny(object) }
        if let first = failedInserts.first?.error { throw first }
    }

    private func detail<Object: Model>(of object: Object, _ message: String) -> StrataError.Detail {
        StrataError.Detail(model: Object._$schema.name, id: object.id.rawValue, message: message)
    }

    /// Makes an object that was created from a row part of this context.
    func register<Object: Model>(_ object: Object, entity: Int) -> Object {
        prepareToRegister(Object.self, entity)
        object._$link = ObjectLink(self)
        object._$state = ObjectState(entity: UInt16(truncatingIfNeeded: entity), isObserved: observers != nil)
        identity.insert(object, object.id.rawValue)
        if hasFetchHooks { noteFetched(object, entity: entity) }
        return object
    }

    /// Must be called before objects are added to the identity map.
    @inline(__always)
    func prepareToRegister<Object: Model>(_ model: Object.Type, _ entity: Int) {
        if trackers[entity] == nil { _ = tracker(Object.self, entity) }
        if !isTracked { startTracking() }
    }

    private func startTracking() {
        isTracked = true
        (cursor, shownSequence) = store.layers.startTracking(id)
    }

    // MARK: Finding

    /// The object with this id. It comes from memory if it is live in this context, otherwise from the layers and the
    /// store. The result is nil if the object does not exist or was deleted.
    ///
    /// - Throws: ``StrataError`` with `idOfOtherStore` for an id of another store, or if the store cannot be read.
    /// - Complexity: O(1) from memory, otherwise one look-up by key.
    public func find<Object: Model>(_ id: ObjectID<Object>) throws -> Object? {
        if let object = identity[id.rawValue, Object.self],
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
        if let object = identity[number, Object.self] {
            let object = unsafeDowncast(object, to: Object.self)  // the look-up compares the type
            return object._$state.isDeleted ? nil : object
        }
        let connection = try currentConnection()
        // If the overlay is empty, no layer has changed the row.
        if !connection.overlay.parts.isEmpty,
            let kind = snapshot?.layers.topKind(of: number, entity: entity.info.index, in: path)
        {
            let object: Object? = kind.isVisible ? pendingObject(number, entity.info.index) : nil
            if hasFetchHooks { runHooksAfterFetch() }
            return object
        }
        // A hook may use the same statement, so the statement is reset before the hooks run.
        defer { if hasFetchHooks { runHooksAfterFetch() } }
        let statement = try connection.statement(.selectByID(entity.info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        guard try statement.step() else { return nil }
        return try make(from: statement.reader, number, entity: entity.info.index)
    }

    /// The row that this context shows; nil if the row does not exist here.
    func row<Row: StoredRow>(_ number: Int64, of entity: Entity<Row>) throws -> Row? {
        let snapshot = try currentSnapshot()
        if let change = snapshot.layers.top(number, entity: entity.info.index, in: path, Row.self) {
            return change.kind.isVisible ? change.row : nil
        }
        return try entity.read(number, on: snapshot.reader.connection)
    }

    // MARK: Changing

    @inline(__always)
    func willChange<Object: Model>(_ object: Object, _ column: Int) {
        guard !isEnded else { return }
        if object._$state.isObserved { observers?.willChange(object.id.rawValue, column) }
        noteTurn()
        let tracker = trackers[Int(object._$state.entity)].unsafelyUnwrapped  // register creates the tracker
        unsafeDowncast(tracker, to: ObjectTracker<Object>.self).willChange(object, column, in: self)
    }

    /// Records the insert of an object that was deleted here, or a new relationship to it. The next save reports this
    /// use. Does nothing for an object that was not deleted.
    ///
    /// - Parameter other: the related object. If `other` refers to an object that was deleted elsewhere, its own save
    ///   reports the reference.
    func noteUse<Object: Model>(ofDeleted object: Object, by other: (any Model)? = nil) {
        guard object._$state.isDeleted, object._$link.context === self, !isEnded else { return }
        noteTurn()
        publish()
        let (number, entity) = (object.id.rawValue, Int(object._$state.entity))
        let layers = store.layers.state.withLock { $0.layers }
        let own = layers.topKind(of: number, entity: entity, in: [id])
        let isPending = layers.topKind(of: number, entity: entity, in: path.dropLast()) == .delete
        guard own == .delete || own == .cancelledInsert || (other == nil && !isPending) else { return }
        tracker(Object.self, entity)
            .noteUse(ofDeleted: object, "was inserted or related to others", by: other?.storedID)
    }

    /// The number of the last commit that the live objects show.
    var seenSequence: Int64 { snapshot?.sequence ?? shownSequence }

    /// The base of a change that starts from this row: the version that was seen, and the version in the store.
    func base<Row: StoredRow>(of before: Row, entity: Int) -> Base<Row> {
        baseFinder(entity: entity).base(of: before)
    }

    /// Finds the bases of changes that are made now.
    func baseFinder<Row: StoredRow>(entity: Int) -> BaseFinder<Row> {
        if let snapshot {
            return BaseFinder(parts: snapshot.layers.parts(of: entity, in: path), sequence: snapshot.sequence)
        }
        // Without a snapshot, the objects live on from an earlier block. They show the state of their last refresh.
        let layers = store.layers.state.withLock { $0.layers }
        return BaseFinder(parts: layers.parts(of: entity, in: path), sequence: shownSequence)
    }

    // MARK: Deleting

    /// Deletes an object and applies its delete rules.
    ///
    /// The object disappears from queries of this context immediately. Its last values stay readable. If a rule denies
    /// the delete, ``save()`` and ``commit()`` throw an error that names the blocking objects. They also report the
    /// delete of an object that belongs to another context. An object that was never inserted belongs to no context,
    /// and the call does not change that.
    public func delete<Object: Model>(_ object: Object) {
        guard object._$link.context === self, !object._$state.isDeleted, !isEnded else {
            if object._$link.context == nil {
                failedInserts.removeAll { $0.object === object }
            } else if object._$link.context !== self {
                // The failed insert makes the next save report that the object belongs to another context.
                insert(object)
            }
            return
        }
        noteTurn()
        guard deleteAlone(object) else { return }
        let (entity, number) = (Int(object._$state.entity), object.id.rawValue)
        inTurn {
            do {
                try $0.applyDeleteRules(of: [entity: [number]])
            } catch {
                // The next save applies the rules again and throws the error if it persists.
                $0.reference.report(error)
            }
        }
    }

    /// Deletes a live object without applying its delete rules. Returns whether the object existed and was still there
    /// after its hook.
    func deleteAlone<Object: Model>(_ object: Object) -> Bool {
        guard !object._$state.isDeleted else { return false }
        if store.schema.hasDeleteHooks, !runHookBeforeDelete(object) { return false }
        tracker(Object.self, Int(object._$state.entity)).delete(object, in: self)
        observers?.willChange(object.id.rawValue, ContextObservers.Facet.isDeleted)
        return true
    }

    /// Runs consequences of an insert or delete, immediately or after the consequences that are already running. The
    /// loop replaces recursion, because chains of objects can exceed the stack's depth. All consequences are done when
    /// the outermost call returns.
    private func inTurn(_ work: @escaping (ObjectContext) -> Void) {
        consequences.append(work)
        guard consequences.count == 1 else { return }
        var next = 0
        while next < consequences.count {
            consequences[next](self)
            next += 1
        }
        consequences.removeAll()
    }

    // MARK: Between contexts

    /// Reads an object again without dropping changes made in this context.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func refresh<Object: Model>(_ object: Object) throws {
        guard object._$link.context === self else { return }
        publish()
        if isPinned { _ = try currentSnapshot() } else { try acquireSnapshot() }
        let entity = store.schema.entities[Int(object._$state.entity)].typed(Object.Row.self)
        tracker(Object.self, entity.info.index).show(try row(object.id.rawValue, of: entity), in: object)
    }
}

/// Finds the bases of changes to one entity's rows, given the layers that a context sees.
struct BaseFinder<Row: StoredRow> {
    /// Oldest first.
    private let parts: [RowChanges<Row>]
    private let sequence: Int64

    init(parts: [any AnyRowChanges], sequence: Int64) {
        self.parts = parts.map { $0.typed(Row.self) }
        self.sequence = sequence
    }

    /// Whether no layer has changed rows of the entity, so that the store's rows are the current ones.
    var isEmpty: Bool { parts.isEmpty }

    /// Complexity: O(layers · log changes).
    func base(of before: Row) -> Base<Row> {
        if parts.isEmpty { return Base(inStore: before, sequence: sequence) }
        var stored: Row?
        var sequence = sequence
        var known = ColumnSet()
        for part in parts {
            guard let change = part[before._$id] else { continue }
            if change.kind == .insert { return Base(original: before, storeOriginal: nil, sequence: sequence) }
            guard let base = change.base else { continue }
            // If an older change was made before the row was in the store, its base contains only the version that it
            // saw. That version then replaces the stored one.
            if stored == nil { stored = before }
            // The base of a delete contains all columns of the stored row. This matters for a row that was restored
            // over the delete.
            let columns = change.kind == .delete ? ColumnSet(first: ColumnSet.limit) : change.columns
            stored?._$copy(columns.subtracting(known), from: base.storeOriginal ?? base.original)
            known.formUnion(columns)
            sequence = min(sequence, base.sequence)
        }
        guard let stored else { return Base(inStore: before, sequence: sequence) }
        return Base(original: before, storeOriginal: stored, sequence: sequence)
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
