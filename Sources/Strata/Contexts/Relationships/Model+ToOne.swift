extension Model {
    public static func _$load(_ stored: Never, of owner: some Model, at column: Int) -> Self {}

    /// The object at the end of a to-one relationship. Property accessors do not throw: if the store cannot be read,
    /// the result is nil, and the error goes to ``ContextStack/failures``.
    public static func _$loadOptional(_ stored: ObjectID<Self>?, of owner: some Model, at column: Int) -> Self? {
        switch owner._$link.owner {
        case .none: return nil
        case .pending(let pending): return pending.one[column] as? Self
        case .context(let context):
            guard let stored else { return nil }
            context.countRead(of: column, owner, to: stored)
            do {
                return try context.find(stored)
            } catch {
                context.reference.report(error)
                return nil
            }
        }
    }

    public static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Never {
        // Unreachable: a row with a column of type Never cannot be made, so no model with such a property exists.
        preconditionFailure("a to-one relationship is optional")
    }

    /// Relates two objects. If one of the objects is inserted into a context, the other one is inserted too.
    public static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> ObjectID<Self>? {
        owner.clearPendingReference(column)
        guard let value else { return nil }
        var context = owner._$link.context
        let other = value._$link.context
        if context == nil || context !== other {
            if let context {
                context.insert(value)
                // The context refuses an object of another context, as in any insert. The next save reports the
                // refusal.
                if other != nil { return owner.reference(at: column) }
            } else if let other, !other.isEnded {
                other.insert(owner)
                context = owner._$link.context
            } else {
                owner.pendingRelationships.one[column] = value
                // An object of an ended context is not linked here. The context that its owner is inserted into later
                // refuses it.
                if other == nil {
                    value.pendingRelationships.referrers.append(PendingRelationships.WeakModel(object: owner))
                }
                return nil
            }
        }
        if let context {
            if value._$state.isDeleted { context.noteUse(ofDeleted: value, by: owner) }
            context.freeOneToOne(value, for: owner, at: column)
        }
        let id = value.id
        return id.isAssigned ? id : nil
    }

    /// The id that a to-one column holds.
    private func reference<Destination: Model>(at column: Int) -> ObjectID<Destination>? {
        guard case .integer(let number)? = try? _$row._$value(at: column) else { return nil }
        return ObjectID(rawValue: number, fingerprint: id.fingerprint)
    }

    public static func _$isSame(_ left: Never, _ right: Never) -> Bool {}

    @inlinable
    public static func _$isSameOptional(_ left: ObjectID<Self>?, _ right: ObjectID<Self>?) -> Bool { left == right }

    /// The side of a one-to-one relationship that does not have a column in this model.
    public func _$derived<Destination: Model>(_ relationship: Int) -> Destination? {
        observeMembers()
        guard let context = _$link.context else {
            guard case .pending(let pending) = _$link.owner else { return nil }
            return pending.many[relationship]?.first as? Destination
        }
        do {
            let members: [Destination] = try context.members(of: self, relationship)
            return members.first
        } catch {
            context.reference.report(error)
            return nil
        }
    }

    public func _$setDerived<Destination: Model>(_ value: Destination?, _ relationship: Int) {
        let many = Many<Destination>(_$owner: self, relationship: relationship)
        if let current: Destination = _$derived(relationship) {
            if current === value { return }
            many.remove(current)
        }
        if let value { many.insert(value) }
    }
}

extension ObjectContext {
    /// Empties the to-one columns of other objects that refer to the same destination as this one.
    fileprivate func freeOneToOne(_ destination: some Model, for owner: some Model, at column: Int) {
        let entity = Int(owner._$state.entity)
        guard store.schema.oneToOne[entity].contains(column), destination.id.isAssigned else { return }
        let info = store.schema.entities[entity].info
        do {
            try clearReferences(of: info, at: column, to: destination.id.rawValue, except: owner.id.rawValue)
        } catch {
            // The unique index detects the duplicate at the save.
            reference.report(error)
        }
    }
}
