extension ObjectContext {
    /// Makes an object part of this context and assigns its permanent id.
    ///
    /// An object that already belongs to this context is unchanged. If the object was deleted here, the next save
    /// refuses it. Objects to which it was related before the insert are inserted with it.
    ///
    /// An insert fails if the object belongs to another context, if its model is not among the stack's models, or if
    /// the store cannot reserve ids. The object then stays outside the context. The next ``SavingContext/save()`` or
    /// ``SavingContext/commit()`` tries again and throws the reason, so that no failure goes unnoticed.
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
            saving.recordFailedInsert(of: object, error)
        }
        return object
    }

    private func tryInsert<Object: Model>(_ object: Object, _ number: Int64?) throws(StrataError) {
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
            if !reading.isTracked { startTracking() }
            Object._$insert(object, id, ObjectLink(self), tracker.stateOfInsert)
            live.identity.insert(object, id.rawValue)
            tracker.noteInsert(object)
        } catch {
            throw StrataError(grdb: error)
        }
        if let pending { inTurn { $0.carryOut(pending, of: object) } }
    }

    /// Applies the relationships that an object had before its insert. All related objects are inserted too.
    private func carryOut<Object: Model>(_ pending: PendingRelationships, of object: Object) {
        for (column, destination) in pending.one.sorted(by: { $0.key < $1.key }) {
            insert(destination)
            guard destination._$link.context == nil || destination._$link.context === self else { continue }
            let number = destination.storedID
            object.setReference(number == 0 ? nil : number, at: column)
        }
        for (relationship, members) in pending.many.sorted(by: { $0.key < $1.key }) {
            func add<Member: Model>(_ member: Member) {
                Many<Member>(_$owner: object, relationship: relationship).insert(member)
            }
            for member in members { insert(member) }
            // Members come after their own relationships. If several owners claim a member, the last one has it.
            inTurn { _ in
                for member in members { add(member) }
            }
        }
        for leading in pending.referrers {
            if let other = leading.object as? any Model, other._$link.context == nil { insert(other) }
        }
    }

    /// Retries inserts that have failed.
    func retryFailedInserts() throws {
        guard !saving.failedInserts.isEmpty else { return }
        let failed = saving.failedInserts
        saving.failedInserts = []
        for (object, _) in failed { insert(object) }
        if let first = saving.failedInserts.first?.error { throw first }
    }

    private func detail<Object: Model>(of object: Object, _ message: String) -> StrataError.Detail {
        StrataError.Detail(model: Object._$schema.name, id: object.id.rawValue, message: message)
    }

    /// Makes an object that was created from a row part of this context.
    func register<Object: Model>(_ object: Object, entity: Int) -> Object {
        prepareToRegister(Object.self, entity)
        object._$link = ObjectLink(self)
        object._$state = ObjectState(entity: UInt16(truncatingIfNeeded: entity), isObserved: observers != nil)
        live.identity.insert(object, object.id.rawValue)
        if hookQueue.hasFetchHooks { noteFetched(object, entity: entity) }
        return object
    }

    /// Must be called before objects are added to the identity map.
    @inline(__always)
    func prepareToRegister<Object: Model>(_ model: Object.Type, _ entity: Int) {
        if live.trackers[entity] == nil { _ = tracker(Object.self, entity) }
        if !reading.isTracked { startTracking() }
    }

    /// Moves to the end of the log, and lets the log keep the next events. The context must have no live objects.
    func startTracking() {
        reading.cursor = store.layers.startTracking(id)
        reading.isTracked = true
    }

    /// Runs consequences of an insert or delete, immediately or after the consequences that are already running. The
    /// loop replaces recursion, because chains of objects can exceed the stack's depth. All consequences are done when
    /// the outermost call returns.
    func inTurn(_ work: @escaping (ObjectContext) -> Void) {
        live.consequences.append(work)
        guard live.consequences.count == 1 else { return }
        var next = 0
        while next < live.consequences.count {
            let consequence = live.consequences[next]
            consequence(self)
            next += 1
        }
        live.consequences = []
    }
}
