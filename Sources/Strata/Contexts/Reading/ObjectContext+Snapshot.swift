extension ObjectContext {
    /// The snapshot and layers that this context reads from. They are taken now if this block has not read yet.
    func currentSnapshot() throws -> ReadSnapshot {
        if let snapshot = reading.snapshot { return snapshot }
        return try acquireSnapshot()
    }

    /// The connection of the current snapshot, without copying the snapshot.
    func currentConnection() throws -> Connection {
        if let connection = reading.snapshot?.reader.connection { return connection }
        return try acquireSnapshot().reader.connection
    }

    /// Takes the newest snapshot with its matching layers, and refreshes live objects.
    @discardableResult
    func acquireSnapshot() throws -> ReadSnapshot {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        // Live objects are about to be refreshed, which would overwrite unpublished edits.
        publish()
        let reader = try readerForSnapshot()
        reading.snapshot = nil
        do {
            if reading.isPinned {
                try reader.end()
                store.copyJournalIfLarge()
            }
            let matched = try store.layers.acquireSnapshot(
                for: reader,
                of: id,
                after: isFollowingChanges ? reading.cursor.event : nil,
                only: reading.transaction == nil ? nil : path,
                schema: store.schema
            )
            if !matched.mergedMembers.isEmpty { undoing.moveMembers(matched.mergedMembers) }
            let snapshot = ReadSnapshot(reader: reader, sequence: matched.sequence, layers: matched.layers)
            reading.snapshot = snapshot
            if let readRecord = reading.readRecord {
                readRecord.begin(matched, after: reading.cursor.event, store.layers)
                reader.connection.readRecord = readRecord
            }
            if reading.isPinned { reading.ownRevision = matched.layers.revisions[id] }
            showOverlay()
            try applyEvents(of: matched)
            if !saving.isRunning { observers?.flush() }
            return snapshot
        } catch {
            reading.snapshot = nil
            store.giveBack(reader)
            throw error
        }
    }

    /// The reader of the current snapshot, or another reader if cursors still read the snapshot.
    private func readerForSnapshot() throws -> Reader {
        if let reader = reading.transaction { return reading.snapshot == nil ? reader.share() : reader }
        guard let known = reading.snapshot?.reader else {
            return try store.borrowReader(for: reference.label, isOfPlace: reading.hasPlace)
        }
        guard known.isShared else { return known }
        let reader = try store.borrowReader(for: reference.label)
        store.giveBack(known)
        return reader
    }

    static var endedError: StrataError {
        StrataError(.contextInvalidated, "This context has ended. Fetch the objects again in another context.")
    }

    /// Releases the snapshot. The next read takes a newer one.
    func releaseSnapshot() {
        guard let reader = reading.snapshot?.reader else { return }
        reading.edition &+= 1
        reading.snapshot = nil
        store.giveBack(reader)
    }

    /// Stops reading inside the running transaction.
    func leaveTransaction() {
        for cursor in reading.cursorsInTransaction { cursor.rows?.close() }
        releaseSnapshot()
        guard let connection = reading.transaction.take()?.connection else { return }
        connection.overlay.show([:])
        // A rollback removes tables that were made in the block.
        connection.search.forgetPending()
    }

    /// Makes the layers of this context visible to queries on its reader.
    func showOverlay() {
        reading.edition &+= 1
        reading.snapshot?.showOverlay(of: path)
    }

    /// Whether changes by others matter to this context: it has live objects, or observers may have read objects that
    /// it no longer keeps.
    var isFollowingChanges: Bool { live.identity.count > 0 || observers?.hasObservers ?? false }

    /// Refreshes live objects with the saves and commits of other contexts since the last refresh.
    private func applyEvents(of matched: LayerRegistry.MatchedLayers) throws {
        defer {
            reading.cursor = matched.cursor
            reading.isTracked = true
        }
        guard isFollowingChanges, let snapshot = reading.snapshot else { return }
        observers?.noteChanges()
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        // If there are more events than objects, a refresh of all objects costs less. But only the events tell which
        // objects have changed that the context does not keep.
        if observers != nil || matched.cursor.event - reading.cursor.event <= live.identity.count + 16,
            let events = matched.events.map({ $0 + matched.inFlight.map { CommitLog.Event(number: 0, commit: $0) } }),
            events.allSatisfy({ $0.unread != nil })
        {
            for event in events where event.isVisible(in: path) {
                if case .edits(id) = event.cause { continue }
                // If the commit was in flight at the last refresh, the objects may already show newer values than the
                // commit's.
                var isShown = false
                if case .commit(let number, _, _) = event.cause { isShown = number <= reading.cursor.sequence }
                // The owners of members in unread rows are not known.
                if let unread = event.unread, !unread.isEmpty { observers?.noteAll() }
                for (entity, ids) in event.unread ?? [:] {
                    let objects = live.objects(in: ids, of: store.schema.model(entity))
                    let error = live.trackers[entity]?.refresh(objects, snapshot, path)
                    failure = failure ?? error
                }
                // If several events concern an object, the last of them determines its values.
                for (entity, part) in event.parts(for: id, seesSaved: path.count > 1 || !hasParent) {
                    observers?.noteMembers(part, of: store.schema.entities[entity].info)
                    noteUnheldObjects(of: part, entity, areInsertsNew: event.isCommit)
                    let error = live.trackers[entity]?.refresh(
                        live.objects(in: part, of: store.schema.model(entity)),
                        of: part,
                        isCommitted: event.isCommit && !isShown,
                        snapshot,
                        path
                    )
                    failure = failure ?? error
                }
            }
        } else {
            return try refreshAll(snapshot)
        }
        if let failure { throw failure }
    }

    /// Notes changes of objects that this context no longer keeps, for observers that have read them.
    func noteUnheldObjects(of part: any AnyRowChanges, _ entity: Int, areInsertsNew: Bool) {
        guard let observers, observers.hasObservers, let model = store.schema.model(entity) else { return }
        observers.noteRows(part, areInsertsNew: areInsertsNew) { live.identity[$0, model] == nil }
    }

    /// Refreshes all live objects from a snapshot.
    func refreshAll(_ snapshot: ReadSnapshot) throws {
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        observers?.noteAll()
        for (entity, models) in live.allByEntity() {
            let error = live.trackers[entity]?.refresh(models, snapshot, path)
            failure = failure ?? error
        }
        if let failure { throw failure }
    }
}
