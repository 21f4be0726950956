extension ObjectContext {
    // MARK: Before a save

    /// Calls the hooks of objects that were inserted or edited here, and of objects that the hooks edit, until none
    /// remain.
    func runHooksBeforeSave() throws {
        guard !hookQueue.states.isEmpty else { return }
        var done: Set<Int64> = []
        // Each hook runs once in a save. If other hooks edit an object whose hook has already run, its hook is not
        // called again.
        defer {
            publish()
            for entity in hookQueue.states.keys { hookQueue.states[entity]?.edited.subtract(done) }
        }
        for _ in 0..<Self.hookRounds {
            let due = dueHooks(without: done)
            guard !due.isEmpty else { return }
            for next in due {
                done.insert(next.number)
                // An object that an earlier hook has deleted is skipped.
                guard let object = try anyObject(next.number, entity: next.entity) else { continue }
                if next.isInsert { hookQueue.states[next.entity]?.inserted.insert(next.number) }
                try next.hook.run?(object, self)
            }
            publish()
        }
        throw StrataError(
            .invalidState,
            "Hooks still insert or change further objects after \(Self.hookRounds) rounds. Make sure that they stop."
        )
    }

    /// The maximum number of rounds in one save in which hooks insert or change further objects.
    private static let hookRounds = 1000

    /// The rows of this context's own edits whose hooks are due, in the order of entities and ids.
    private func dueHooks(
        without done: Set<Int64>
    ) -> [(number: Int64, entity: Int, isInsert: Bool, hook: ObjectHook)] {
        let layers = store.layers.state.withLock { $0.layers }
        let own = layers[id].filter { $0.provenance == Provenance(id) }
        var due: [(number: Int64, entity: Int, isInsert: Bool, hook: ObjectHook)] = []
        for entity in hookQueue.states.keys.sorted() {
            let parts = own.compactMap { $0.parts[entity] }
            let hooks = store.schema.entities[entity].info.hooks
            let announced = hookQueue.states[entity]?.inserted ?? []
            for number in (hookQueue.states[entity]?.edited ?? []).sorted() where !done.contains(number) {
                let kinds = parts.compactMap { part in part.index(of: number).map(part.kind) }
                guard let last = kinds.last, last.isVisible else { continue }
                let isInsert = kinds.contains(.insert) && !announced.contains(number)
                due.append((number, entity, isInsert, isInsert ? hooks.willInsert : hooks.willUpdate))
            }
            // Between two saves in a savepoint, this loop over all changes waits.
            guard undoing.checkedSegments.isEmpty else { continue }
            hookQueue.states[entity]?.inserted = announced.filter { number in
                parts.contains { $0.index(of: number) != nil }
            }
        }
        return due
    }

    // MARK: Before a delete

    /// Calls the hook of an object that is about to be deleted. Returns whether the caller must still delete the
    /// object.
    @inline(never)
    func runHookBeforeDelete(_ object: some Model) -> Bool {
        guard let hook = store.schema.entities[Int(object._$state.entity)].info.hooks.willDelete.run else {
            return true
        }
        let number = object.id.rawValue
        // If a hook deletes its own object, the object is deleted once.
        guard hookQueue.beginDelete(number) else { return false }
        defer { hookQueue.endDelete(number) }
        do { try hook(object, self) } catch { reference.report(error) }
        return !object._$state.isDeleted
    }

    // MARK: After a fetch

    /// Records an object that was created from a row. Its hook is called later, because a statement may still be at
    /// that row.
    @inline(never)
    func noteFetched(_ object: AnyObject, entity: Int) {
        guard store.schema.entities[entity].info.hooks.didFetch.run != nil else { return }
        hookQueue.noteFetched(object, entity: entity)
    }

    /// Calls the hooks of objects that were created from rows. Objects that the hooks fetch are handled in the same
    /// loop, without recursion, because chains of objects can exceed the stack's depth.
    @inline(never)
    func runHooksAfterFetch() {
        guard hookQueue.beginFetchHooks() else { return }
        while let (object, entity) = hookQueue.takeFetched() {
            guard let hook = store.schema.entities[entity].info.hooks.didFetch.run else { continue }
            do { try hook(object, self) } catch { reference.report(error) }
        }
        _ = hookQueue.endFetchHooks()
    }

    // MARK: Validation

    /// Calls the validations of models that validate their objects with access to the context.
    func runValidations() throws {
        guard store.schema.hasValidations else { return }
        var failures: [StrataError.Detail] = []
        let layers = store.layers.state.withLock { $0.layers }
        let unchecked = undoing.unchecked(layers[id])
        for entity in store.schema.entities where entity.info.hooks.validateBeforeSave {
            let parts = unchecked.compactMap { $0.parts[entity.info.index] }
            let ids = parts.reduce(into: Set<Int64>()) { $0.formUnion($1.ids) }
            for number in ids.sorted() {
                failures += try validate(number, entity.info, layers)
            }
        }
        guard !hasUnpublishedEdits, saving.failedInserts.isEmpty else {
            throw StrataError(
                .invalidState,
                "A validation has changed objects. Validations only read; change objects in willInsert or willUpdate."
            )
        }
        guard !failures.isEmpty else { return }
        // The error also lists the violations that the rows alone reveal.
        for entity in store.schema.entities {
            entity.validate(unchecked.compactMap { $0.parts[entity.info.index] }, &failures)
        }
        throw CommitJob.validationError(failures)
    }

    private func validate(_ number: Int64, _ info: EntityInfo, _ layers: LayerSnapshot) throws -> [StrataError.Detail] {
        switch layers.topKind(of: number, entity: info.index, in: [id]) {
        case .delete:
            guard let validate = info.hooks.validateDelete.run else { return [] }
            guard let object = anyTracker(info.index)?.deletedObject(number, layers, self) else { return [] }
            return try validate(object, self)
        case .insert, .update, .undelete:
            guard let validate = info.hooks.validate.run, let object = try anyObject(number, entity: info.index) else {
                return []
            }
            return try validate(object, self)
        default: return []
        }
    }
}
