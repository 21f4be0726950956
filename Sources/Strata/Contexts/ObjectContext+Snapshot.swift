extension ObjectContext {
    /// The snapshot and layers that this context reads from. They are taken now if this block has not read yet.
    func currentSnapshot() throws -> ReadSnapshot {
        if let snapshot { return snapshot }
        return try acquireSnapshot()
    }

    /// The connection of the current snapshot, without copying the snapshot.
    func currentConnection() throws -> Connection {
        if let connection = snapshot?.reader.connection { return connection }
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
        snapshot = nil
        do {
            if isPinned {
                try reader.end()
                store.copyJournalIfLarge()
            }
            let matched = try store.layers.acquireSnapshot(for: reader, of: id, schema: store.schema)
            let snapshot = ReadSnapshot(reader: reader, sequence: matched.sequence, layers: matched.layers)
            self.snapshot = snapshot
            if let readRecord {
                readRecord.begin(matched, after: cursor, store.layers)
                reader.connection.readRecord = readRecord
            }
            if isPinned { ownRevision = matched.layers.revisions[id] }
            showOverlay()
            try applyEvents(of: matched)
            if !isSaving { observers?.flush() }
            return snapshot
        } catch {
            snapshot = nil
            store.giveBack(reader)
            throw error
        }
    }

    /// The reader of the current snapshot, or another reader if cursors still read the snapshot.
    private func readerForSnapshot() throws -> Reader {
        guard let known = snapshot?.reader else {
            return try store.borrowReader(for: reference.label, isOfPlace: hasPlace)
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
        guard let reader = snapshot?.reader else { return }
        edition &+= 1
        snapshot = nil
        store.giveBack(reader)
    }

    /// Makes the layers of this context visible to queries on its reader.
    func showOverlay() {
        edition &+= 1
        snapshot?.showOverlay(of: path)
    }

    /// Refreshes live objects with the saves and commits of other contexts since the last refresh.
    private func applyEvents(of matched: LayerRegistry.MatchedLayers) throws {
        defer {
            cursor = matched.lastEvent
            shownSequence = matched.sequence
            isTracked = true
        }
        guard identity.count > 0, let snapshot else { return }
        observers?.noteChanges()
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        // If there are more events than objects, a refresh of all objects costs less.
        if matched.lastEvent - cursor <= identity.count + 16,
            let events = store.layers.events(after: cursor, through: matched.lastEvent),
            events.allSatisfy({ $0.unread != nil })
        {
            for event in events + (matched.inFlight.map { [LayerRegistry.Event(number: 0, commit: $0)] } ?? []) {
                switch event.cause {
                case .edits(let editor) where editor == id || !path.contains(editor): continue
                case .layer(let context) where !path.contains(context): continue
                default: break
                }
                // If the commit was in flight at the last refresh, the objects may already show newer values than the
                // commit's.
                var isShown = false
                if case .commit(let number, _, _) = event.cause { isShown = number <= shownSequence }
                // The owners of members in unread rows are not known.
                if let unread = event.unread, !unread.isEmpty { observers?.noteAllMembers() }
                for (entity, ids) in event.unread ?? [:] {
                    let error = trackers[entity]?.refresh(liveObjects(in: ids, entity: entity), snapshot, path)
                    failure = failure ?? error
                }
                // If several events concern an object, the last of them determines its values.
                for (entity, part) in event.parts(for: id, seesSaved: path.count > 1 || !hasParent) {
                    observers?.noteMembers(part, of: store.schema.entities[entity].info)
                    let error = trackers[entity]?.refresh(
                        liveObjects(in: part, entity: entity),
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

    /// Refreshes all live objects from a snapshot.
    func refreshAll(_ snapshot: ReadSnapshot) throws {
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        observers?.noteAllMembers()
        var models: [Int: [any Model]] = [:]
        identity.forEach { _, object in
            if let model = object as? any Model { models[Int(model._$state.entity), default: []].append(model) }
        }
        for (entity, models) in models {
            let error = trackers[entity]?.refresh(models, snapshot, path)
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// The live objects of a part's rows, with the indexes of the rows. They are collected before any object is
    /// refreshed, because deinitializers of old values may call this context again.
    ///
    /// Complexity: O(the smaller number of rows and live objects).
    func liveObjects(in part: any AnyRowChanges, entity: Int) -> [(index: Int, object: AnyObject)] {
        guard let model = store.schema.model(entity) else { return [] }
        var found: [(index: Int, object: AnyObject)] = []
        let ids = part.ids
        if ids.count <= identity.count * 4 {
            for index in ids.indices {
                if let object = identity[ids[index], model] { found.append((index, object)) }
            }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, let index = ids.sortedIndex(of: number) {
                    found.append((index, object))
                }
            }
        }
        return found
    }

    /// The live objects of some rows.
    ///
    /// Complexity: O(the smaller number of rows and live objects).
    private func liveObjects(in ids: IDRanges, entity: Int) -> [any Model] {
        guard let model = store.schema.model(entity) else { return [] }
        var found: [any Model] = []
        if ids.count <= identity.count * 4 {
            for number in ids { if let object = identity[number, model] as? any Model { found.append(object) } }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, ids.contains(number), let object = object as? any Model {
                    found.append(object)
                }
            }
        }
        return found
    }

    /// Moves unpublished edits into this context's layer, which queries and children read.
    func publish() {
        var parts: [Int: any AnyRowChanges] = [:]
        for (entity, tracker) in trackers.enumerated() {
            if let part = tracker?.flush(self) { parts[entity] = part }
        }
        if !parts.isEmpty { publish(parts) }
    }

    /// Moves edits that no tracker holds into this context's layer.
    func publish(_ parts: [Int: any AnyRowChanges]) {
        // Edits by hooks and delete rules during a save follow from edits that are already recorded.
        if undoHistory.isOn, !isSaving {
            keepBytes(of: parts)
            undoHistory.record(parts)
        }
        push(parts)
    }

    /// Adds changes to this context's layer, both in this block's snapshot and in the layers that other contexts read.
    func push(_ parts: [Int: any AnyRowChanges]) {
        if let observers {
            observers.noteChanges()
            for (entity, part) in parts { observers.noteMembers(part, of: store.schema.entities[entity].info) }
        }
        let provenance = Provenance(id)
        let published = store.layers.publish(parts, provenance: provenance, by: id, seenThrough: cursor)
        if let newest = published.cursor { cursor = newest }
        if published.isAncestorUnknown { rebaseOntoStore(parts) }
        guard snapshot != nil else { return }
        if isPinned, ownRevision == published.revisions.before { ownRevision = published.revisions.after }
        snapshot?.layers.push(parts, provenance: provenance, to: id, frozen: [])
        if let isEmpty = snapshot?.prefetched.isEmpty, !isEmpty {
            snapshot?.prefetched.forgetMembers(of: parts, store.schema)
        }
        showOverlay()
    }

    // MARK: Called by the context's owner

    /// Refreshes live objects with the newest state, before a block.
    func beginBlock() {
        guard !isEnded else { return }
        if isPinned { return showOwnLayer() }
        guard identity.count > 0 else { return }
        do {
            if try !store.layers.isCurrent(cursor) || store.hasForeignCommits() { try acquireSnapshot() }
        } catch {
            // If the store cannot be read, the block's own reads report the error too.
            reference.report(error)
        }
    }

    /// Shows the saves and commits of a block for which the current block has waited.
    func lookAgain() {
        guard !isEnded, snapshot != nil || identity.count > 0 else { return }
        publish()
        if isPinned { return showOwnLayer() }
        guard !store.layers.isCurrent(cursor) else { return }
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
        snapshot?.prefetched = Prefetched()
        observers?.flush()
        if identity.isSweepDue || !reference.isMain { _ = identity.sweep() }
        // Objects that the sweep deallocated may have read or edited objects in their deinitializers.
        publish()
        undoHistory.closeGroup()
        if isPinned { return }
        releaseSnapshot()
        let wasTracked = isTracked
        isTracked = identity.count > 0
        if wasTracked || isTracked { store.layers.track(id, cursor: isTracked ? cursor : nil) }
    }

    /// Drops unsaved changes and returns the number of rows that had any.
    func discard() -> Int {
        let count = changeCount
        for tracker in trackers { tracker?.discard() }
        failedInserts.removeAll()
        deleteEffects.removeAll()
        store.layers.clear(id)
        return count
    }

    /// Detaches all objects. Their last values stay readable, and no changes can be saved any more.
    func end() {
        guard !isEnded else { return }
        releaseSnapshot()
        isEnded = true
        dropCallbacks(includesSaved: true)
        for tracker in trackers { tracker?.discard() }
        trackers = Array(repeating: nil, count: trackers.count)
        observers = nil
        state = ContextState()
        store.layers.remove(context: id)
        // The map is moved out of the context first, so that the context no longer holds it when its objects are
        // deallocated.
        var objects = IdentityMap()
        swap(&objects, &identity)
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

extension ObjectContext.ReadSnapshot {
    /// Makes the layers of these contexts, oldest first, visible to queries on the reader.
    func showOverlay(of path: [Int]) {
        var parts: [Int: [any AnyRowChanges]] = [:]
        for context in path {
            for segment in layers[context] {
                for (entity, part) in segment.parts { parts[entity, default: []].append(part) }
            }
        }
        reader.connection.overlay.show(parts)
    }
}
