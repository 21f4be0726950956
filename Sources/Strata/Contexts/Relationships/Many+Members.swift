extension Many {
    /// Adds an object. If the object or the owner is inserted into a context, the other one is inserted too. Adding an
    /// existing member again changes nothing.
    ///
    /// In an ordered relationship, the object becomes the last member.
    public func insert(_ object: Object) {
        if let context = owner._$link.context {
            context.noteUse(ofDeleted: object, by: owner)
            context.insert(object)
        } else if let context = object._$link.context {
            context.insert(owner)
        } else {
            guard !hasPending(object) else { return }
            owner.pendingRelationships.many[relationship, default: []].append(object)
            object.pendingRelationships.referrers.append(PendingRelationships.WeakModel(object: owner))
            return
        }
        guard let context = owner._$link.context, object._$link.context === context else { return }
        context.noteUse(ofDeleted: owner, by: object)
        do {
            try context.add(object, to: owner, relationship)
        } catch {
            context.reference.report(error)
        }
    }

    private func hasPending(_ object: Object) -> Bool {
        owner.pendingRelationships.many[relationship]?.contains { $0 === object } ?? false
    }

    /// Removes an object from the relationship. The object is not deleted.
    public func remove(_ object: Object) {
        guard let context = owner._$link.context else {
            guard hasPending(object) else { return }
            owner.pendingRelationships.many[relationship]?.removeAll { $0 === object }
            object.forget(owner)
            return
        }
        do {
            try context.remove(object, from: owner, relationship)
        } catch {
            context.reference.report(error)
        }
    }

    /// Removes all objects from the relationship. The objects are not deleted.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func removeAll() throws {
        for object in try fetch() { remove(object) }
    }

    /// Moves a member of an ordered relationship in front of another member, or to the end. A member that is moved in
    /// front of itself does not move.
    ///
    /// Members that were added by setting their to-one side do not have a stored place, and come last. Those of them
    /// that precede the moved member receive a place.
    ///
    /// - Throws: ``StrataError`` with `invalidState` if the relationship is not ordered or one of the objects is not a
    ///   member.
    public func move(_ object: Object, before next: Object?) throws {
        guard let context = owner._$link.context else {
            throw StrataError(.invalidState, "Insert the owner before you order its members.")
        }
        try context.move(object, before: next, in: owner, relationship)
    }
}
