import Foundation

extension ObjectContext {
    /// Moves this context's changes to its parent; in a savepoint, checks the save, and lets the savepoint make it.
    func saveOrPostpone() throws {
        try checkCommits()
        guard undoing.savepoints.isEmpty else { return try postponeSave() }
        try whileSaving {
            try saveToParent()
            try acquireSnapshot()
        }
    }

    /// Checks a save in a savepoint, which is carried out when the outermost savepoint returns. The check covers the
    /// changes since the last successful one in the open savepoints. The postponed save checks all changes.
    ///
    /// As after other saves, duplicate inserts are merged, and timestamps and the edits of hooks are set. Only the
    /// effects of delete rules are removed: they belong to the deletes that are moved, and the postponed save applies
    /// the rules again.
    private func postponeSave() throws {
        undoing.forgetChecks(unlessWith: mergePolicy)
        let checked = try whileSaving { try inRounds { try checkOnce(isLast: $0) } }
        undoing.postponeSave(mergePolicy, checked: checked)
    }

    /// Checks a save unless the parents have changed since the changes were prepared. Returns the layer's segments,
    /// which are checked now, or nil if nothing was checked or changed.
    ///
    /// - Parameter isLast: whether to check in any case, as in ``saveOnce(isLast:)``.
    private func checkOnce(isLast: Bool) throws -> Set<Int>? {
        // Merged duplicate inserts stay, because hooks may have edited the objects that absorbed them. Without the
        // merge below such an edit, the postponed save would report a conflict with this context's own values.
        var merges: Set<Int> = []
        let prepared = try prepareToSave {
            merges = $0.added
            try applyDeleteRules(of: [id], &$0)
        }
        let result: Result<Set<Int>?, any Error> = Result {
            let snapshot = try acquireSnapshot()
            guard try isLast || isUpToDate(prepared, snapshot) else { return nil }
            _ = try checkedEdits(snapshot)
            return Set(snapshot.layers[id].map(\.id))
        }
        store.layers.thaw(prepared.added)
        var isChecked = false
        if case .success(let checked) = result { isChecked = checked != nil }
        takeBack(isChecked ? prepared.added.subtracting(merges) : prepared.added)
        return try result.get()
    }

    /// Carries out the save that the only open savepoint has postponed, if there is one. If it throws, no change is
    /// moved.
    func carryOutPostponedSave() throws {
        guard let policy = undoing.savepoints.last?.postponedSave else { return }
        undoing.forgetChecks()
        let current = mergePolicy
        mergePolicy = policy
        defer { mergePolicy = current }
        try whileSaving {
            try saveToParent()
            // The changes are in the parent's layer now, so an error of the refresh must not fail the savepoint.
            showNewest()
        }
    }

    private func saveToParent() throws {
        try inRounds { try saveOnce(isLast: $0) ? () : nil }
        forgetSavedDeletes()
        observers?.noteChanges()
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

    /// Repeats a step of a save until no parent has changed during it.
    ///
    /// - Parameter step: returns nil if it must be repeated. It is told whether this is the last round, in which it
    ///   does its work in any case.
    private func inRounds<Value>(_ step: (_ isLast: Bool) throws -> Value?) throws -> Value {
        var rounds = 0
        while true {
            rounds += 1
            if let value = try step(rounds == Self.saveRounds) { return value }
        }
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
            ) { parent in
                store.callbacks.moveUp(from: id, to: parent)
            }
            if isMoved { return true }
        }
    }

    /// Refuses saves, commits and batches in a block that only reads, or whose changes are committed after it has
    /// returned.
    func checkCommits() throws {
        if let refusal = saving.refusal { throw StrataError(.invalidState, refusal.rawValue) }
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
    /// edits are not part of the commit. The caller thaws them, and releases their callbacks.
    func prepareForChain() throws -> PreparedLayer {
        try checkNoSavepoint()
        return try whileSaving {
            let prepared = try prepareToSave { _ in }
            store.layers.thaw(prepared.added)
            let (segments, callbacks) = store.layers.freeze([id]) { store.callbacks.hold(at: id) }
            return PreparedLayer(
                segments: segments[id] ?? [],
                callbacks: callbacks,
                mergeTargets: prepared.mergeTargetRows
            )
        }
    }

    /// Prepares and freezes the changes that a commit writes. Later edits are not part of it.
    ///
    /// All commits of a context begin here, and end in ``finishCommit(_:_:)``.
    ///
    /// - Parameters:
    ///   - others: the prepared layers of the other contexts of a chain, by context.
    ///   - alongside: an engine's work in the same transaction.
    func beginCommit(
        with others: [Int: PreparedLayer] = [:],
        alongside: PendingCommit.EngineWork? = nil
    ) throws -> PendingCommit {
        try checkNoSavepoint()
        let segments = others.mapValues(\.segments)
        let prepared = try whileSaving {
            // Otherwise hooks would run, and their errors would hide this one.
            try store.checkWritable()
            return try prepareToSave {
                if !others.isEmpty { try applyDeleteRules(of: others.keys + [id], &$0, segments) }
            }
        }
        // A context further up the chain has seen the changes of the contexts beneath it, so its rows replace theirs.
        let mergeTargets = others.sorted { $0.key < $1.key }.map(\.value.mergeTargets) + [prepared.mergeTargetRows]
        let reference = self.reference
        // In one step: a child that saves meanwhile moves its changes and their callbacks either before or afterwards.
        let (frozen, callbacks) = store.layers.freeze([id]) { store.callbacks.hold(at: id) }
        return PendingCommit(
            store: store,
            committer: id,
            name: reference.name,
            added: prepared.added,
            frozen: frozen.merging(store.layers.freezeAgain(segments)) { own, _ in own },
            policy: mergePolicy,
            author: author,
            reads: reading.readRecord?.reads(reading.cursor.event),
            mergeTargets: mergeTargets.reduce(into: [:]) { $0.merge($1) { $0.replacing(by: $1) } },
            names: { reference.name(of: $0) },
            callbacks: TakenCallbacks(
                store.callbacks,
                own: callbacks,
                others: others.values.reduce(into: []) { $0.formUnion($1.callbacks) }
            ),
            alongside: alongside
        )
    }

    /// Refreshes the objects with the result of a commit.
    func finishCommit(_ pending: PendingCommit, _ result: Result<CommitRecord?, any Error>) {
        pending.release()
        switch result {
        case .success: pending.callbacks.run()
        case .failure:
            pending.callbacks.release()
            if isEnded { dropCallbacks(includesSaved: true) }
        }
        guard !isEnded else { return }
        observers?.noteChanges()
        defer { observers?.flush() }
        if case .failure = result { takeBack(pending.added) }
        // An undo needs the bytes that edits made during the commit have replaced. This snapshot may be the last one
        // that has them.
        if undoing.history.isOn { publish() }
        releaseSnapshot()
        if case .success = result { forgetSavedDeletes() }
        if reading.isPinned { return showNewest() }
        guard case .success(let record?) = result, isFollowingChanges else { return }
        let canShow = record.cancelledInserts.isEmpty && (record.rewritten.isEmpty || canShowRewritten)
        switch store.layers.advance(id, from: reading.cursor.event, committing: canShow ? record.sequence : nil) {
        case .moved(let last):
            // No other context has changed anything in between. All rows except the rewritten ones are as the objects
            // show them.
            for (entity, part) in record.rewritten {
                live.trackers[entity]?.show(live.objects(in: part, of: store.schema.model(entity)), of: part)
            }
            reading.cursor.event = last
            reading.cursor.sequence = record.sequence
        case .behind(let count):
            dropUnheldObjects(missing: count)
            if isFollowingChanges { showNewest() } else { startTracking() }
            // A snapshot that is kept until the next commit would keep SQLite from restarting the journal.
            releaseSnapshot()
        }
    }

    /// Drops the objects that no other code holds, if there are fewer objects than events since the last refresh. To
    /// drop them then takes less time than to refresh them.
    ///
    /// Their deinitializers may call this context.
    private func dropUnheldObjects(missing events: Int) {
        if events > live.identity.count { _ = live.identity.sweep() }
    }

    /// Whether the rows that a commit has rewritten can be shown directly: no layer has changes above the store.
    private var canShowRewritten: Bool {
        observers == nil && !hasUnpublishedEdits
            && store.layers.state.withLock { state in path.allSatisfy { state.layers[$0].isEmpty } }
    }

    /// Takes the newest snapshot, and reports an error instead of throwing it.
    func showNewest() {
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
}
