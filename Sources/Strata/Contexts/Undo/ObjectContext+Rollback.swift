extension ObjectContext {
    /// Drops this context's own edits. Changes that children have saved here stay.
    ///
    /// Inserted objects disappear, deleted objects return, and changed objects show their previous values.
    public func rollback() { rollback(includingSaved: false) }

    /// Drops this context's own edits and, if `includingSaved` is true, also changes that children have saved here.
    ///
    /// Changes that a commit is currently writing are not dropped. In a savepoint, edits from before the savepoint
    /// stay, and an earlier ``SavingContext/save()`` of the savepoint does not take place.
    public func rollback(includingSaved: Bool) {
        guard !isEnded else { return }
        noteTurn()
        let before = undoing.savepoints.last
        undoing.restartSavepoint(dropsSaved: includingSaved)
        saving.failedInserts = before?.failedInserts ?? []
        deleteEffects.effects = before?.deleteEffects ?? [:]
        if let before { undoing.history = before.undoHistory } else { undoing.history.removeAll() }
        hookQueue.states = before?.hookStates ?? [:]
        for tracker in live.trackers { tracker?.discard() }
        for (entity, uses) in before?.usesAfterDelete ?? [:] { live.trackers[entity]?.usesAfterDelete = uses }
        var callbacks: [CommitCallbacks.Callback] = []
        drop {
            includingSaved || $0.provenance == Provenance(id)
        } alongside: {
            // In one step: a child that saves meanwhile keeps both its changes and their callbacks.
            callbacks = dropCallbacks(after: before?.lastCallback ?? 0, includesSaved: includingSaved)
        }
        // Their bodies are released after this, outside of the lock.
        withExtendedLifetime(callbacks) {}
    }

    /// Drops this context's own edits of these objects only, so that the other objects can be saved.
    ///
    /// If the delete of an object is dropped, the effects of its delete rules on other objects are undone too. Objects
    /// deleted along with it return; stored ones return without their own edits. Cleared references and removed members
    /// are restored, unless they were changed since. Objects that refer to a dropped insert keep their values; their
    /// save reports the relationship.
    ///
    /// Changes that a commit is currently writing are not dropped. In a savepoint, edits from before the savepoint
    /// stay, and an earlier ``SavingContext/save()`` of the savepoint takes place without the dropped edits.
    public func rollback(_ objects: [any Model]) {
        guard !isEnded, !objects.isEmpty else { return }
        noteTurn()
        saving.forgetFailedInserts(of: objects)
        publish()
        var ids = Set(objects.filter { $0._$link.context === self }.map(\.storedID))
        let effects = effects(ofDeleting: &ids)
        for tracker in live.trackers { tracker?.forgetFailures(of: ids) }
        if !undoing.checkedSegments.isEmpty {
            // Other checked changes may refer to the dropped ones.
            let level = store.layers.state.withLock { $0.layers[id] }
            let affected = level.filter { segment in
                segment.parts.values.contains { part in ids.contains { part.index(of: $0) != nil } }
            }
            undoing.forgetChecks(ofAny: affected.map(\.id))
        }
        drop {
            $0.provenance == Provenance(id)
        } keeping: {
            !ids.contains($0)
        }
        do { try undo(effects) } catch { reference.report(error) }
        if hookQueue.hasFetchHooks { runHooksAfterFetch() }
    }

    /// Removes changes from this context's layer and rebases all changes above onto the remaining state. In a
    /// savepoint, changes from before it stay. The deletes of ``ContextUndo/returningDeletes`` return to the layer.
    ///
    /// - Parameters:
    ///   - keeping: the rows whose changes stay in the dropped segments; by default none.
    ///   - alongside: called before other contexts can change the layers. Not called if the store cannot be read.
    func drop(
        _ isDropped: (ChangeSegment) -> Bool,
        keeping: (Int64) -> Bool = { _ in false },
        alongside: () -> Void = {}
    ) {
        defer { undoing.returningDeletes = [] }
        do {
            let held = undoing.heldSegments
            try editLayer {
                try store.layers.drop(
                    from: id,
                    { isDropped($0) && !held.contains($0.id) },
                    keeping: keeping,
                    puttingBack: undoing.returningDeletes,
                    schema: store.schema,
                    $0,
                    alongside: alongside
                )
            }
        } catch {
            reference.report(error)
        }
    }
}

extension LayerRegistry {
    /// Removes changes from a layer, and puts back deletes that an undo has removed from it. Returns whether the layer
    /// has changed, or nil if the state that was read is too old to rebase onto.
    func drop(
        from context: Int,
        _ isDropped: (ChangeSegment) -> Bool,
        keeping: (Int64) -> Bool,
        puttingBack deletes: [CancelledDeletes] = [],
        schema: Schema,
        _ reading: LayerReading,
        alongside: () -> Void = {}
    ) throws -> Bool? {
        try rebasing(onto: reading, schema, by: context) { state in
            alongside()
            var dropped: [[Int: any AnyRowChanges]] = []
            var kept: [ChangeSegment] = []
            var hasGapBelow = false
            let fixed = state.fixed
            for segment in state.layers[context] {
                guard isDropped(segment), state.frozen[segment.id] == nil else {
                    kept.append(segment)
                    kept[kept.count - 1].hasGapBelow = segment.hasGapBelow || hasGapBelow
                    hasGapBelow = false
                    continue
                }
                dropped.append(segment.parts)
                var rest = segment
                rest.parts = segment.parts.compactMapValues { $0.filtered(keeping) }
                if !rest.parts.isEmpty { kept.append(rest) }
                hasGapBelow = true
            }
            // The deletes were not in the layer when commits have merged members.
            let deletes = state.movingMergedMembers(deletes, of: context)
            for deletes in deletes.reversed() {
                dropped.append(deletes.segment.parts)
                kept.putBack(deletes, fixed: fixed)
            }
            guard !dropped.isEmpty else { return false }
            state.layers[context] = kept
            for (entity, part) in deletes.flatMap(\.segment.parts) {
                part.updateStoreOriginals(
                    reading: reading.connection,
                    entity: entity,
                    context: context,
                    schema,
                    in: &state.layers
                )
            }
            let contexts = [context] + state.layers.descendants(of: context)
            for parts in dropped {
                state.layers.rebaseAll(parts, in: contexts, schema, reading: reading.connection)
                state.log.record(.layer(context), parts)
            }
            return true
        }
    }
}

extension LayerRegistry {
    /// Removes the deletes of these rows from a layer, as if they had never been made. Edits from before the deletes
    /// count again. The delete of a row stays if a commit is currently writing it.
    ///
    /// - Parameter held: the segments from before the innermost savepoint.
    /// - Returns: the rows whose deletes were removed, those of them that are visible again, the segments that had the
    ///   deletes, and the deletes that return if the savepoint fails. Other contexts may have deleted a row too. The
    ///   result is nil if the state that was read is too old to rebase onto.
    func cancelDeletes<Row: StoredRow>(
        of part: RowChanges<Row>,
        entity: Int,
        in context: Int,
        held: Set<Int>,
        _ schema: Schema,
        _ reading: LayerReading
    ) throws -> (taken: Set<Int64>, back: Set<Int64>, segments: [Int], cancelled: [CancelledDeletes])? {
        try rebasing(onto: reading, schema, by: context) { state in
            let level = state.layers[context]
            var edits: [Int: [Int64: Change<Row>?]] = [:]
            var deletes: [Int: [Change<Row>]] = [:]
            var taken: Set<Int64> = []
            for number in part.ids {
                let stack = state.layers.stack(number, entity: entity, in: context, Row.self)
                let isFrozen = stack.contains { state.frozen[level[$0.segment].id] != nil }
                guard stack.last?.change.kind == .delete, !isFrozen else { continue }
                taken.insert(number)
                for entry in stack where entry.change.kind == .delete {
                    edits[entry.segment, default: [:]][number] = .some(entry.change.cancelled)
                    deletes[entry.segment, default: []].append(entry.change)
                }
            }
            guard let rows = part.filtered(taken.contains)?.typed(Row.self) else { return ([], [], [], []) }
            state.layers.edit(context, entity: entity, edits)
            for other in [context] + state.layers.descendants(of: context) {
                rows.rebaseRead(entity: entity, context: other, schema, reading.connection, in: &state.layers)
            }
            state.log.record(.layer(context), [entity: rows])
            let path = state.layers.readPath(to: context)
            let typed = schema.entities[entity].typed(Row.self)
            let back = try taken.filter { number in
                try state.layers.topKind(of: number, entity: entity, in: path).map(\.isVisible)
                    ?? (typed.read(number, on: reading.connection) != nil)
            }
            var cancelled: [CancelledDeletes] = []
            for (position, changes) in deletes {
                let segment = level[position]
                let isOwn = segment.provenance == Provenance(context)
                // A failure drops the context's own deletes in the savepoint. Segments need not wait for their return.
                if isOwn, !held.contains(segment.id) { continue }
                cancelled.append(
                    CancelledDeletes(
                        segment: ChangeSegment(
                            id: segment.id,
                            provenance: segment.provenance,
                            parts: [entity: RowChanges(unsorted: changes)],
                            hasGapBelow: segment.hasGapBelow
                        ),
                        below: Set(level[..<position].map(\.id)),
                        spare: state.layers.reserveSegment(in: context),
                        isOwn: isOwn
                    )
                )
            }
            return (taken, back, deletes.keys.map { level[$0].id }, cancelled)
        }
    }
}

extension RowChanges {
    func filtered(_ isKept: (Int64) -> Bool) -> (any AnyRowChanges)? {
        let kept = changes.filter { isKept($0.row._$id) }
        return kept.isEmpty ? nil : RowChanges(unsorted: kept)
    }

    /// Rebases changes onto the state beneath them, after these rows were removed from a layer. If that state is in the
    /// store, it is read.
    ///
    /// - Parameter replacingEqual: whether to replace rows that equal those beneath them, see
    ///   ``LayerSnapshot/rebase(_:entity:in:_:replacingEqual:fallback:)``.
    func rebaseRead(
        entity: Int,
        context: Int,
        _ schema: Schema,
        _ connection: Connection,
        replacingEqual: Bool,
        in layers: inout LayerSnapshot
    ) {
        let ids = touched(in: layers, context: context, entity: entity)
        guard !ids.isEmpty else { return }
        let typed = schema.entities[entity].typed(Row.self)
        var rows: [Int64: Row?] = [:]
        for number in ids {
            // After an error, the change stays as it was. Its own save will report the error.
            do { rows.updateValue(try typed.read(number, on: connection), forKey: number) } catch { continue }
        }
        layers.setMissingStoreOriginals(ids.filter { rows[$0] != nil }, entity: entity, in: context, Row.self) {
            rows[$0] ?? nil
        }
        layers.rebase(ids, entity: entity, in: context, Row.self, replacingEqual: replacingEqual) { rows[$0] }
    }
}
