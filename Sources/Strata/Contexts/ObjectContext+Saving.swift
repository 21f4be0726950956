import Foundation

extension ObjectContext {
    /// Moves this context's changes to its parent. If the save throws, no change is moved.
    ///
    /// For a context directly over the store, this is a ``commit()``. The save includes changes that children have
    /// saved here. Attributes marked as timestamps are set.
    ///
    /// - Throws: ``StrataError`` with `validation`, `conflict`, `notUnique`, `deleteDenied` or `missingReference`,
    ///   which lists every object and column concerned; and errors thrown by hooks. The context is then as it was
    ///   before, except that values set back to their original value no longer count as changes.
    /// - Complexity: O(changed rows), and a look-up in the store for each value that must be unique and for each
    ///   destination of a changed relationship.
    public func save() throws {
        guard hasParent else { return try commit() }
        try whileSaving {
            var rounds = 0
            repeat { rounds += 1 } while try !saveOnce(isLast: rounds == Self.saveRounds)
            forgetSavedDeletes()
            observers?.noteChanges()
            try acquireSnapshot()
        }
    }

    /// Saves unless the parents have changed since the changes were prepared. Returns whether the changes were saved;
    /// otherwise nothing has changed.
    ///
    /// - Parameter isLast: whether to save in any case. Changes that do not fit the newest state are then refused.
    private func saveOnce(isLast: Bool) throws -> Bool {
        let prepared = try prepareToSave { try applyDeleteRules(of: [id], &$0) }
        // The added segments stay frozen until the save has succeeded or failed.
        let result = Result { try moveUp { try isLast || isUpToDate(prepared, $0) } }
        store.layers.thaw(prepared.added)
        guard case .success(true) = result else {
            takeBack(prepared.added)
            return try result.get()
        }
        return true
    }

    /// The maximum number of times that one save prepares its changes.
    private static let saveRounds = 100

    /// Moves the changes to the parent. Repeats the checks until no other context has changed the layers in between.
    /// Returns whether the changes were moved.
    ///
    /// - Parameter isUpToDate: whether the prepared changes fit the newest state.
    private func moveUp(if isUpToDate: (ReadSnapshot) throws -> Bool) throws -> Bool {
        while true {
            publish()
            let snapshot = try acquireSnapshot()
            guard try isUpToDate(snapshot) else { return false }
            let edits = try checkedEdits(snapshot)
            let isMoved = try store.layers.moveUp(
                from: id,
                expecting: snapshot.layers,
                edits: edits,
                schema: store.schema,
                LayerReading(connection: snapshot.reader.connection, sequence: snapshot.sequence)
            )
            guard isMoved else { continue }
            // The path of a context over the committed state does not include its parent.
            if let parent = snapshot.layers.parents[id] { store.callbacks.moveUp(from: id, to: parent) }
            return true
        }
    }

    /// Writes this context's changes through all parents to the store, in one transaction. If the commit throws, no
    /// change is written.
    ///
    /// The commit includes changes that this context saved to its parents earlier, and objects that parents have
    /// inserted and these changes refer to. Other edits of the parents stay where they are. When the method returns,
    /// the changes are on disk.
    ///
    /// Isolation: blocks this context's executor while the disk is busy. For the main context, commit from outside:
    /// `try await stack.commit(.main)` leaves the main actor free meanwhile.
    ///
    /// - Throws: as ``save()``, and errors that the store reports: `diskFull`, `busy`, …
    public func commit() throws { try commit(with: [:]) }

    /// Commits this context's changes together with the prepared changes of other contexts in a chain.
    ///
    /// - Parameter others: the prepared layers, by context.
    func commit(with others: [Int: PreparedLayer]) throws {
        try checkCommits()
        try carryOut(try beginCommit(with: others))
    }

    /// Refuses saves, commits and batches in a block whose changes an engine commits together with its own writes.
    func checkCommits() throws {
        guard reading.readRecord != nil else { return }
        throw StrataError(
            .invalidState,
            "All changes of this block are committed together after it has returned. Do not save, commit or run a "
                + "batch in it."
        )
    }

    /// Writes a commit that was begun, and refreshes the context with the result.
    ///
    /// The context releases its snapshot first, so that a commit that waits for the writer does not make checkpoints
    /// incomplete.
    func carryOut(_ pending: PendingCommit) throws {
        releaseSnapshot()
        let result = Result { try pending.write() }
        finishCommit(pending, result)
        _ = try result.get()
    }

    /// Prepares this context's changes for a commit by another context of its chain. The segments are frozen, so later
    /// edits are not part of the commit. The caller thaws them.
    func prepareForChain() throws -> PreparedLayer {
        try checkNoSavepoint()
        return try whileSaving {
            let prepared = try prepareToSave { _ in }
            store.layers.thaw(prepared.added)
            return PreparedLayer(segments: store.layers.freeze([id])[id] ?? [], mergeTargets: prepared.mergeTargetRows)
        }
    }

    /// Freezes the changes that a commit writes. Later edits are not part of it.
    func beginCommit(with others: [Int: PreparedLayer] = [:]) throws -> PendingCommit {
        try checkNoSavepoint()
        let segments = others.mapValues(\.segments)
        let prepared = try whileSaving {
            try prepareToSave { if !others.isEmpty { try applyDeleteRules(of: others.keys + [id], &$0, segments) } }
        }
        // A context further up the chain has seen the changes of the contexts beneath it, so its rows replace theirs.
        let mergeTargets = others.sorted { $0.key < $1.key }.map(\.value.mergeTargets) + [prepared.mergeTargetRows]
        let reference = self.reference
        return PendingCommit(
            store: store,
            added: prepared.added,
            request: CommitRequest(
                committer: id,
                name: reference.name,
                frozen: store.layers.freeze([id]).merging(store.layers.freezeAgain(segments)) { own, _ in own },
                policy: mergePolicy,
                author: author,
                reads: reading.readRecord?.reads(reading.cursor.event),
                mergeTargets: mergeTargets.reduce(into: [:]) { $0.merge($1) { $0.replacing(by: $1) } },
                names: { reference.name(of: $0) }
            ),
            callbacks: store.callbacks.take(for: id, with: others.keys)
        )
    }

    /// Refreshes the objects with the result of a commit.
    func finishCommit(_ pending: PendingCommit, _ result: Result<CommitRecord?, any Error>) {
        pending.release()
        switch result {
        case .success: pending.callbacks.run()
        case .failure: if !isEnded { store.callbacks.putBack(pending.callbacks) }
        }
        guard !isEnded else { return }
        observers?.noteChanges()
        defer { observers?.flush() }
        if case .failure = result { takeBack(pending.added) }
        releaseSnapshot()
        if case .success = result { forgetSavedDeletes() }
        if reading.isPinned { return showNewest() }
        guard case .success(let record?) = result, live.identity.count > 0 else { return }
        if record.cancelledInserts.isEmpty, record.rewritten.isEmpty || canShowRewritten,
            let last = store.layers.cursor(after: reading.cursor.event, of: id, committing: record.sequence)
        {
            // No other context has changed anything in between. All rows except the rewritten ones are as the objects
            // show them.
            for (entity, part) in record.rewritten {
                live.trackers[entity]?.show(live.objects(in: part, of: store.schema.model(entity)), of: part)
            }
            reading.cursor.event = last
            reading.cursor.sequence = record.sequence
        } else {
            showNewest()
            // A snapshot that is kept until the next commit would keep SQLite from restarting the journal.
            releaseSnapshot()
        }
    }

    /// Whether the rows that a commit has rewritten can be shown directly: no layer has changes above the store.
    private var canShowRewritten: Bool {
        observers == nil && !hasUnpublishedEdits
            && store.layers.state.withLock { state in path.allSatisfy { state.layers[$0].isEmpty } }
    }

    private func showNewest() {
        do { try acquireSnapshot() } catch { reference.report(error) }
    }

    /// Runs a step of a save. A save inside a save is refused.
    private func whileSaving<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isEnded else { throw Self.endedError }
        guard !saving.isRunning else {
            throw StrataError(
                .invalidState,
                "This context is being saved already. Save again after the save has returned."
            )
        }
        noteTurn()
        publishStamped()
        saving.isRunning = true
        defer {
            saving.isRunning = false
            observers?.flush()
        }
        // A save is checked against the newest state, even if the context is pinned to an older one.
        if reading.isPinned { try acquireSnapshot() }
        return try body()
    }

    /// Publishes edits when a save begins.
    ///
    /// The timestamps are set at publication if the edits are only inserts and no code before the timestamps could read
    /// or change them. Most commits are like this, and setting the timestamps in the layer would double the cost.
    private func publishStamped() {
        let schema = store.schema
        saving.isStamped =
            !schema.hasSaveHooks && schema.updating.allSatisfy { live.trackers[$0]?.isEmpty ?? true }
            && !undoing.history.isOn && observers == nil && undoing.savepoints.isEmpty
            && store.layers.state.withLock { $0.layers[id].isEmpty }
        saving.time = Date()
        if saving.isStamped { saving.insertTime = .real(saving.time.timeIntervalSinceReferenceDate) }
        publish()
        saving.insertTime = nil
    }

    /// Prepares the changes for a save or commit.
    ///
    /// - Parameter last: the last step.
    private func prepareToSave(_ last: (inout PreparedSave) throws -> Void) throws -> PreparedSave {
        try retryFailedInserts()
        publish()
        try dropNoOpChanges()
        var prepared = PreparedSave()
        if store.layers.hasInserted(store.schema.updating, in: id) {
            prepared.added = try adding { try mergeDuplicateInserts(&prepared) }
        }
        do {
            try prepareToSave()
            try last(&prepared)
        } catch {
            store.layers.thaw(prepared.added)
            takeBack(prepared.added)
            throw error
        }
        return prepared
    }

    /// Retries failed inserts, refuses uses of deleted objects, calls hooks, sets timestamps and validates.
    private func prepareToSave() throws {
        try retryFailedInserts()
        publish()
        if store.schema.hasSaveHooks {
            try runHooksBeforeSave()
            try dropNoOpChanges()
        }
        try retryFailedInserts()
        var failures: [StrataError.Detail] = []
        for case let tracker? in live.trackers { failures += tracker.failures(self) }
        guard failures.isEmpty else {
            throw StrataError(
                .invalidState,
                "Objects were changed or related to others after they had been deleted in this context. Roll them "
                    + "back to restore them.",
                details: failures
            )
        }
        publish()
        if !store.schema.stamped.isEmpty, !saving.isStamped { stamp(saving.time) }
        try runValidations()
    }

    /// Drops changes whose values are back at their original values. Does nothing in a savepoint, which needs all
    /// changes.
    private func dropNoOpChanges() throws {
        guard undoing.savepoints.isEmpty, store.layers.hasNoOpChanges(in: id, store.schema) else { return }
        try editLayer { try store.layers.dropNoOpChanges(of: id, store.schema, $0) }
    }

    /// Sets the timestamps of objects that this context itself has changed.
    private func stamp(_ now: Date) {
        let layers = store.layers.state.withLock { $0.layers }
        var stamps: [Int: any AnyRowChanges] = [:]
        for entity in store.schema.stamped {
            let parts = layers[id].filter { $0.provenance == Provenance(id) }.compactMap { $0.parts[entity.info.index] }
            if let stamp = entity.stamps(parts, layers: layers, context: id, now: now) {
                stamps[entity.info.index] = stamp
            }
        }
        guard !stamps.isEmpty else { return }
        push(stamps)
        for (entity, part) in stamps {
            guard let model = store.schema.model(entity) else { continue }
            for number in part.ids {
                guard let object = live.identity[number, model] else { continue }
                live.trackers[entity]?.show(part, number, in: object)
            }
        }
    }

    /// Applies the delete rules again to the deletes in the layers of these contexts. This context
    /// is the topmost of them, and the rules affect the rows that it sees.
    private func applyDeleteRules(
        of contexts: [Int],
        _ prepared: inout PreparedSave,
        _ others: [Int: Set<Int>] = [:]
    ) throws {
        let deletes = deletes(of: contexts.filter(path.contains), others)
        guard !deletes.isEmpty else { return }
        try prepared.recordBasis(currentSnapshot(), path)
        let added = try adding {
            deleteEffects.isPaused = true
            defer { deleteEffects.isPaused = false }
            try applyDeleteRulesAgain(deletes)
        }
        prepared.added.formUnion(added)
    }

    /// Makes edits that are removed if the save fails. Returns their segments, which are frozen.
    private func adding(_ edits: () throws -> Void) throws -> Set<Int> {
        publish()
        // While the earlier segments are frozen, the added edits are not merged into them.
        let before = store.layers.freeze([id])[id] ?? []
        let result = Result(catching: edits)
        publish()
        let after = store.layers.freeze([id])[id] ?? []
        store.layers.thaw(before)
        store.layers.thaw(after.intersection(before))
        let added = after.subtracting(before)
        do {
            try result.get()
        } catch {
            store.layers.thaw(added)
            takeBack(added)
            throw error
        }
        return added
    }

    /// Removes edits that were added for a save, after the save has failed. Changes that a child has saved meanwhile
    /// stay.
    private func takeBack(_ added: Set<Int>) {
        guard !added.isEmpty else { return }
        publish()
        drop {
            $0.provenance == Provenance(id) && added.contains($0.id)
        } keeping: { _ in
            false
        }
    }

    /// The objects that these layers delete and to which other objects may refer.
    ///
    /// - Parameter others: the segments to consider, for the contexts listed here; all segments of the other contexts
    ///   are considered.
    func deletes(of contexts: [Int], _ others: [Int: Set<Int>] = [:]) -> [(entity: Int, number: Int64)] {
        let layers = store.layers.state.withLock { $0.layers }
        let segments = contexts.sorted().flatMap { context in
            layers[context].filter { others[context]?.contains($0.id) ?? true }
        }
        var deletes: [(entity: Int, number: Int64)] = []
        for segment in segments {
            for (entity, part) in segment.parts
            where part.kinds.contains(.delete) && !store.schema.entities[entity].info.incoming.isEmpty {
                for (index, number) in part.ids.enumerated() where part.kind(at: index) == .delete {
                    // Another layer of a chain may have restored the row.
                    if contexts.count == 1 || layers.topKind(of: number, entity: entity, in: path) == .delete {
                        deletes.append((entity, number))
                    }
                }
            }
        }
        return deletes
    }

    /// Applies the rules again, because other contexts may have added rows that refer to the deleted ones since the
    /// delete.
    private func applyDeleteRulesAgain(_ deletes: [(entity: Int, number: Int64)]) throws {
        let deleted = Dictionary(grouping: deletes, by: \.entity).mapValues { $0.map(\.number) }
        try applyDeleteRules(of: deleted)
        let denials = try deleted.sorted { $0.key < $1.key }.flatMap { try self.denials(entity: $0, $1) }
        guard denials.isEmpty else { throw CommitJob.deniedError(denials) }
    }

    /// The rows visible to this context that forbid deletes.
    private func denials(entity: Int, _ ids: [Int64]) throws -> [StrataError.Detail] {
        let deleted = store.schema.entities[entity].info
        var denials: [StrataError.Detail] = []
        for reference in deleted.incoming where reference.deleteRule == .deny {
            let info = store.schema.entities[reference.entity].info
            try forEachRow(of: info, reference.column, ids) { reader in
                let number = try reader.read(Int64.self, at: 0)
                let target = try reader.read(Int64.self, at: Int32(reference.column + 1))
                denials.append(info.denial(number, reference, of: deleted, target))
            }
        }
        return denials
    }

    /// The layers that result if this context's changes are rebased onto its parent's state. Applies only to a context
    /// that reads the committed state instead of its parent.
    private func isolatedFromParents(_ layers: LayerSnapshot) -> LayerSnapshot {
        guard layers.committedOnly.contains(id), let parent = layers.parents[id] else { return layers }
        var layers = layers
        let beneath = layers.readPath(to: parent)
        for entity in store.schema.entities {
            for part in layers.parts(of: entity.info.index, in: [id]) {
                part.rebase(onto: beneath, entity: entity.info.index, context: id, in: &layers)
            }
        }
        return layers
    }

    /// Checks all conditions of a save, and returns the edits that resolve conflicts.
    private func checkedEdits(_ snapshot: ReadSnapshot) throws -> [Int: any LayerEdits] {
        let layers = isolatedFromParents(snapshot.layers)
        let parents = Array(layers.path(to: id).dropLast())
        var failures: [StrataError.Detail] = []
        var conflicts: [StrataError.Detail] = []
        var edits: [Int: any LayerEdits] = [:]
        for entity in store.schema.entities {
            let parts = snapshot.layers[id].compactMap { $0.parts[entity.info.index] }
            guard !parts.isEmpty else { continue }
            entity.validate(parts, &failures)
            if let resolved = entity.resolveConflicts(layers, context: id, mergePolicy, &conflicts) {
                edits[entity.info.index] = resolved
            }
        }
        guard failures.isEmpty else { throw CommitJob.validationError(failures) }
        guard conflicts.isEmpty else {
            let error = CommitJob.conflictError(conflicts)
            store.telemetry.metrics?.noteConflicts(in: error)
            throw error
        }
        for (entity, edits) in edits where store.schema.keepsBytes[entity] {
            try edits.checkBytes(store.schema.entities[entity].info, snapshot.reader.connection)
        }
        try checkReferences(layers, edits, snapshot.reader.connection)
        var duplicates: [StrataError.Detail] = []
        for entity in store.schema.entities where !entity.info.uniques.isEmpty && !entity.info.isJoin {
            let path = layers.readPath(to: parents.last ?? id) + [id]
            try entity.findDuplicates(layers, path: path, snapshot.reader.connection, &duplicates)
        }
        guard duplicates.isEmpty else { throw CommitJob.notUniqueError(duplicates) }
        return edits
    }
}

extension LayerRegistry {
    /// Moves a context's segments to its parent, by reference. If the layers have changed from `layers`, it does
    /// nothing and returns false.
    func moveUp(
        from context: Int,
        expecting layers: LayerSnapshot,
        edits: [Int: any LayerEdits],
        schema: Schema,
        _ reading: LayerReading
    ) throws -> Bool {
        let path = layers.path(to: context)
        let isMoved = try rebasing(onto: reading, schema) { state in
            guard path.allSatisfy({ state.layers.revisions[$0] == layers.revisions[$0] }) else { return false }
            let unresolved = edits.isEmpty ? [] : state.layers[context]
            var resolved = unresolved
            for (entity, edit) in edits { edit.apply(to: &resolved, entity: entity) }
            if !edits.isEmpty { state.layers[context] = resolved.filter { !$0.parts.isEmpty } }
            let parent = path[path.count - 2]
            let above = edits.isEmpty ? [] : state.layers[parent]
            let (frozen, fixed) = (Set(state.frozen.keys), state.fixed)
            for (entity, edit) in edits {
                let cancelled = edit.cancelDeletes(in: &state.layers, context: parent, entity: entity, frozen: frozen)
                for (segment, ids) in cancelled where state.held[segment] != nil {
                    state.overruled[context, default: [:]][segment, default: [:]][entity, default: []].formUnion(
                        ids
                    )
                }
            }
            let segments = state.layers[context]
            if !edits.isEmpty {
                let left = Set((segments + state.layers[parent]).map(\.id))
                for segment in unresolved + above where state.held[segment.id] != nil && !left.contains(segment.id) {
                    state.emptied.insert(segment.id)
                }
            }
            state.layers[context] = []
            for segment in segments {
                state.layers.push(
                    segment.parts,
                    provenance: segment.provenance.adding(context),
                    to: parent,
                    frozen: fixed,
                    keeping: fixed.contains(segment.id) ? segment.id : nil,
                    moved: (segment, by: context)
                )
            }
            // The parent's own layer is rebased too, because a save from over the committed state may now lie on top of
            // it.
            let others = [parent] + state.layers.descendants(of: parent)
            for segment in segments {
                state.layers.rebaseAll(segment.parts, in: others)
                state.recordEvent(.layer(parent), segment.parts)
                // A context over the committed state does not see the changes that it has moved to its parent.
                if state.layers.committedOnly.contains(context) { state.recordEvent(.layer(context), segment.parts) }
            }
            // Dropped changes are no longer among the segments. Their rows show the state beneath.
            for segment in unresolved {
                state.layers.rebaseAll(segment.parts, in: others, schema, reading: reading.connection)
                state.recordEvent(.layer(parent), segment.parts)
            }
            return true
        }
        if isMoved == true { notifyWatchers(of: context) }
        return isMoved ?? false
    }
}
