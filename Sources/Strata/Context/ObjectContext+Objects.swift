extension ObjectContext {
    // MARK: Inserting

    /// Makes an object part of this context and gives it its permanent id.
    ///
    /// An object that belongs to this context already stays as it is; one that was deleted here is refused by the next
    /// save. Objects that it was related to before are inserted with it. Where that cannot be done (the object belongs to another context, its model is not among the stack's,
    /// the store cannot reserve ids), the object stays outside, and the next ``save()`` or ``commit()`` tries again and
    /// throws the reason: nothing is lost unnoticed.
    ///
    /// Complexity: O(1).
    @discardableResult
    public func insert<Object: Model>(_ object: Object) -> Object { insert(object, number: nil) }

    /// - Parameter number: that of an id which was handed out beforehand.
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
        let draft: Draft?
        switch object._$link.owner {
        case .context(let owner):
            guard owner !== self else { return noteUse(ofDeleted: object) }
            throw StrataError(
                .misuse,
                "The object belongs to another context. Find it here by its id, and roll this one back.",
                details: [detail(of: object, "belongs to another context")]
            )
        case .draft(let made): draft = made
        case .none: draft = nil
        }
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        do {
            let entity = try store.schema.index(of: Object.self)
            let id = ObjectID<Object>(number: try number ?? store.ids.take(), fingerprint: store.ids.fingerprint)
            let tracker = tracker(Object.self, entity)
            if !isTracked { startTracking() }
            Object._$insert(object, id, ObjectLink(self), tracker.stateOfInsert)
            identity.insert(object, id.number)
            tracker.noteInsert(object)
        } catch {
            throw StrataError(grdb: error)
        }
        if let draft { inTurn { $0.carryOut(draft, of: object) } }
    }

    /// Relates an object to what it was related to before it was inserted; all of that is inserted too.
    private func carryOut<Object: Model>(_ draft: Draft, of object: Object) {
        for (column, destination) in draft.one.sorted(by: { $0.key < $1.key }) {
            insertAny(destination)
            guard destination._$link.context == nil || destination._$link.context === self else { continue }
            let number = destination.storedNumber
            object.setReference(number == 0 ? nil : number, at: column)
        }
        for (relationship, members) in draft.many.sorted(by: { $0.key < $1.key }) {
            func add<Member: Model>(_ member: Member) {
                Many<Member>(_$owner: object, relationship: relationship).insert(member)
            }
            for member in members { insertAny(member) }
            // After what the members themselves were related to: who has taken them in last has them.
            inTurn { _ in
                for member in members { add(member) }
            }
        }
        for leading in draft.leadingHere {
            if let other = leading.object as? any Model, other._$link.context == nil { insertAny(other) }
        }
    }

    func insertAny(_ object: any Model) {
        func open<Object: Model>(_ object: Object) { insert(object) }
        open(object)
    }

    /// Tries inserts that have failed once more.
    func retryFailedInserts() throws {
        guard !failedInserts.isEmpty else { return }
        let failed = failedInserts
        failedInserts.removeAll()
        for (object, _) in failed { insertAny(object) }
        if let first = failedInserts.first?.error { throw first }
    }

    private func detail<Object: Model>(of object: Object, _ message: String) -> StrataError.Detail {
        StrataError.Detail(model: Object._$schema.name, number: object.id.number, message: message)
    }

    /// Makes an object of a row part of this context.
    func register<Object: Model>(_ object: Object, entity: Int) -> Object {
        prepareToRegister(Object.self, entity)
        object._$link = ObjectLink(self)
        object._$state = ObjectState(entity: UInt16(truncatingIfNeeded: entity), isObserved: observers != nil)
        identity.insert(object, object.id.number)
        if hasFetchHooks { noteFetched(object, entity: entity) }
        return object
    }

    /// Comes before objects are added to the identity map.
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

    /// The object with this id, from memory if it lives here, else from the layers and the store; nil where there is
    /// none or it was deleted.
    ///
    /// - Throws: ``StrataError`` with `foreignID` for an id of another store, or if the store cannot be read.
    /// - Complexity: O(1) from memory, else one look-up by key.
    public func find<Object: Model>(_ id: ObjectID<Object>) throws -> Object? {
        if let object = identity[id.number, Object.self],
            id.fingerprint == store.ids.fingerprint
        {
            let object = unsafeDowncast(object, to: Object.self)  // its type was compared
            return object._$state.isDeleted ? nil : object
        }
        guard id.isAssigned else { return nil }
        try refuseForeign(id)
        let entity = try store.schema.entity(Object.self)
        return try object(id.number, entity: entity, Object.self)
    }

    /// The objects with these ids, in their order; what is not there or was deleted is left out.
    ///
    /// - Throws: as ``find(_:)-(ObjectID<Object>)``.
    /// - Complexity: for each id O(1) from memory, else one look-up by key.
    public func find<Object: Model>(_ ids: some Sequence<ObjectID<Object>>) throws -> [Object] {
        try ids.compactMap { try find($0) }
    }

    /// The object with this number.
    func object<Object: Model>(_ number: Int64, entity: Entity<Object.Row>, _ model: Object.Type) throws -> Object? {
        if let object = identity[number, Object.self] {
            let object = unsafeDowncast(object, to: Object.self)  // its type was compared
            return object._$state.isDeleted ? nil : object
        }
        let connection = try currentConnection()
        // What the overlay does not show, no layer has.
        if !connection.overlay.parts.isEmpty,
            let kind = view?.layers.topKind(of: number, entity: entity.info.index, in: path)
        {
            let object: Object? = kind.isVisible ? pendingObject(number, entity.info.index) : nil
            if hasFetchHooks { runHooksAfterFetch() }
            return object
        }
        // Hooks may want the statement themselves, so it is free before they come.
        defer { if hasFetchHooks { runHooksAfterFetch() } }
        let statement = try connection.statement(.selectByID(entity.info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        guard try statement.step() else { return nil }
        return try make(from: statement.reader, number, entity: entity.info.index)
    }

    /// The row that this context shows; nil where there is none.
    func row<Row: StoredRow>(_ number: Int64, of entity: Entity<Row>) throws -> Row? {
        let view = try currentView()
        if let change = view.layers.top(number, entity: entity.info.index, in: path, Row.self) {
            return change.kind.isVisible ? change.row : nil
        }
        return try entity.read(number, on: view.reader.connection)
    }

    // MARK: Changing

    @inline(__always)
    func willChange<Object: Model>(_ object: Object, _ column: Int) {
        guard !isEnded else { return }
        if object._$state.isObserved { observers?.willChange(object.id.number, column) }
        noteTurn()
        let tracker = trackers[Int(object._$state.entity)].unsafelyUnwrapped  // register makes one
        unsafeDowncast(tracker, to: ObjectTracker<Object>.self).willChange(object, column, in: self)
    }

    /// Lets the next save tell of an object that is inserted or related to another one though it was deleted here (C7). Does
    /// nothing for one that was not.
    ///
    /// - Parameter other: the other one. Where it leads to what was deleted elsewhere, that is found when it is saved.
    func noteUse<Object: Model>(ofDeleted object: Object, by other: (any Model)? = nil) {
        guard object._$state.isDeleted, object._$link.context === self, !isEnded else { return }
        noteTurn()
        publish()
        let (number, entity) = (object.id.number, Int(object._$state.entity))
        let layers = store.layers.state.withLock { $0.layers }
        let own = layers.topKind(of: number, entity: entity, in: [id])
        let isPending = layers.topKind(of: number, entity: entity, in: path.dropLast()) == .delete
        guard own == .delete || own == .withdrawn || (other == nil && !isPending) else { return }
        tracker(Object.self, entity)
            .noteUse(ofDeleted: object, "was inserted or related to others", by: other?.storedNumber)
    }

    /// The number of the commit that live objects were last shown.
    var seenSequence: Int64 { view?.sequence ?? shownSequence }

    /// The two bases of a change that sets out from this row (H18).
    func base<Row: StoredRow>(of before: Row, entity: Int) -> Base<Row> {
        baseFinder(entity: entity).base(of: before)
    }

    /// Finds the bases of changes that are made now.
    func baseFinder<Row: StoredRow>(entity: Int) -> BaseFinder<Row> {
        if let view { return BaseFinder(parts: view.layers.parts(of: entity, in: path), sequence: view.sequence) }
        // Objects that have lived on from an earlier block: they show what they were last told of.
        let layers = store.layers.state.withLock { $0.layers }
        return BaseFinder(parts: layers.parts(of: entity, in: path), sequence: shownSequence)
    }

    // MARK: Deleting

    /// Deletes an object, and what its delete rules say.
    ///
    /// It is gone from queries of this context at once; its last values stay readable. A rule that denies the delete is
    /// reported by ``save()`` and ``commit()``, which name what blocks it. So is the delete of another context's object. One
    /// that was never inserted belongs to no context, and stays so.
    public func delete<Object: Model>(_ object: Object) {
        guard object._$link.context === self, !object._$state.isDeleted, !isEnded else {
            if object._$link.context == nil {
                failedInserts.removeAll { $0.object === object }
            } else if object._$link.context !== self {
                // Refused as an insert of it is, and told of by the next save.
                insert(object)
            }
            return
        }
        noteTurn()
        guard deleteAlone(object) else { return }
        let (entity, number) = (Int(object._$state.entity), object.id.number)
        inTurn {
            do {
                try $0.applyDeleteRules(of: [entity: [number]])
            } catch {
                // The rules are applied once more when this is saved, and whatever is wrong then is thrown.
                $0.reference.report(error)
            }
        }
    }

    /// Deletes an object that lives here, without what its delete rules say. Says whether it was there, and its hook has left it so.
    func deleteAlone<Object: Model>(_ object: Object) -> Bool {
        guard !object._$state.isDeleted else { return false }
        if store.schema.hasDeleteHooks, !runHookBeforeDelete(object) { return false }
        tracker(Object.self, Int(object._$state.entity)).delete(object, in: self)
        observers?.willChange(object.id.number, ContextObservers.Facet.isDeleted)
        return true
    }

    /// Does now, or after what is being done, what follows from an insert or a delete: chains of objects may be longer
    /// than a stack is deep. Everything is done when the outermost call returns.
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

    /// Reads an object again, and gives up nothing that was changed here.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func refresh<Object: Model>(_ object: Object) throws {
        guard object._$link.context === self else { return }
        publish()
        if isPinned { _ = try currentView() } else { try takeView() }
        let entity = store.schema.entities[Int(object._$state.entity)].typed(Object.Row.self)
        tracker(Object.self, entity.info.index).show(try row(object.id.number, of: entity), in: object)
    }
}

/// What the changes of one entity's rows set out from, given the layers that a context sees.
struct BaseFinder<Row: StoredRow> {
    /// Oldest first.
    private let parts: [Part<Row>]
    private let sequence: Int64

    init(parts: [any AnyPart], sequence: Int64) {
        self.parts = parts.map { $0.typed(Row.self) }
        self.sequence = sequence
    }

    /// Whether no layer has changed any of the entity's rows, so that they are as the store has them.
    var isEmpty: Bool { parts.isEmpty }

    /// Complexity: O(layers · log changes).
    func base(of before: Row) -> Base<Row> {
        if parts.isEmpty { return Base(seenInStore: before, sequence: sequence) }
        var stored: Row?
        var sequence = sequence
        var known = ColumnSet()
        for part in parts {
            guard let change = part[before._$number] else { continue }
            if change.kind == .insert { return Base(seen: before, stored: nil, sequence: sequence) }
            guard let base = change.base else { continue }
            // An older change of a row that was not in the store then, and is now: it stands on what it has seen.
            if stored == nil { stored = before }
            // Of a row that was brought back over a delete, that knows all of what was in the store.
            let columns = change.kind == .delete ? ColumnSet(first: ColumnSet.limit) : change.columns
            stored?._$copy(columns.subtracting(known), from: base.stored ?? base.seen)
            known.formUnion(columns)
            sequence = min(sequence, base.sequence)
        }
        guard let stored else { return Base(seenInStore: before, sequence: sequence) }
        return Base(seen: before, stored: stored, sequence: sequence)
    }
}

extension Model {
    /// The same object in another context; nil where that one does not see it.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func `in`(_ context: ObjectContext) throws -> Self? {
        if _$link.context === context { return self }
        return try context.find(id)
    }
}
