/// What the owner of a context calls before and after a block, and at the end of the context.
extension ObjectContext {
    /// In the main context, schedules the work at the end of the current turn of the main actor.
    @inline(__always)
    func noteTurn() {
        if lifecycle.isTurnNoted { return }
        lifecycle.isTurnNoted = true
        reference.scheduleEndOfTurn()
    }

    func turnHasEnded() {
        lifecycle.isTurnNoted = false
        observers?.flush()
    }

    /// Refreshes live objects with the newest state, before a block.
    func beginBlock() {
        guard !isEnded else { return }
        if reading.isPinned { return showOwnLayer() }
        guard isFollowingChanges else { return }
        do {
            // In this order: another thread may tell the layers of these commits at any time. From then on they count as
            // known, and the layers are no longer current.
            if try store.hasForeignCommits() || !store.layers.isCurrent(reading.cursor.event) { try acquireSnapshot() }
        } catch {
            // If the store cannot be read, the block's own reads report the error too.
            reference.report(error)
        }
    }

    /// Shows the saves and commits of a block for which the current block has waited.
    func lookAgain() {
        guard !isEnded, reading.snapshot != nil || isFollowingChanges else { return }
        publish()
        if reading.isPinned { return showOwnLayer() }
        guard !store.layers.isCurrent(reading.cursor.event) else { return }
        do { try acquireSnapshot() } catch { reference.report(error) }
    }

    /// Refreshes live objects with the changes made meanwhile, after a turn of the main actor.
    func endTurn() {
        turnHasEnded()
        beginBlock()
        endBlock()
        turnHasEnded()
    }

    /// Publishes edits and releases the snapshot, after a block or a turn of the main actor.
    func endBlock() {
        guard !isEnded else { return }
        publish()
        reportLoops()
        reading.snapshot?.prefetched = Prefetched()
        observers?.flush()
        if live.identity.isSweepDue || !reference.isMain { _ = live.identity.sweep() }
        // Objects that the sweep deallocated may have read or edited objects in their deinitializers.
        publish()
        undoing.history.closeGroup()
        if reading.isPinned { return }
        releaseSnapshot()
        let (wasTracked, isTracked) = (reading.isTracked, isFollowingChanges)
        reading.isTracked = isTracked
        if wasTracked || isTracked { store.layers.track(id, cursor: isTracked ? reading.cursor.event : nil) }
    }

    /// Drops unsaved changes and returns the number of rows that had any.
    func discard() -> Int {
        let count = changeCount
        for tracker in live.trackers { tracker?.discard() }
        saving.failedInserts = []
        deleteEffects.effects = [:]
        store.layers.clear(id)
        return count
    }

    /// Detaches all objects. Their last values stay readable, and no changes can be saved any more.
    func end() {
        guard !isEnded else { return }
        reportLoops()
        releaseSnapshot()
        lifecycle.isEnded = true
        for tracker in live.trackers { tracker?.discard() }
        live.trackers = Array(repeating: nil, count: live.trackers.count)
        observers = nil
        state = ContextState()
        store.layers.remove(context: id)
        // From now on no child saves to this context.
        dropCallbacks(includesSaved: true)
        // The map is moved out of the context first, so that the context no longer holds it when its objects are
        // deallocated.
        var identity = IdentityMap()
        swap(&identity, &live.identity)
    }

    /// The number of rows that have changes in this context.
    var changeCount: Int {
        publish()
        return store.layers.state.withLock { state in
            var ids: Set<Int64> = []
            for segment in state.layers[id] {
                for part in segment.parts.values { ids.formUnion(part.ids) }
            }
            return ids.count
        }
    }
}
