extension ObjectContext {
    /// The snapshot and layers that this context reads from. They are taken now if this block has not read yet.
    func currentView() throws -> View {
        if let view { return view }
        return try takeView()
    }

    /// The connection of the current view, without copying the view.
    func currentConnection() throws -> Connection {
        if let connection = view?.reader.connection { return connection }
        return try takeView().reader.connection
    }

    /// Takes the newest snapshot with its matching layers, and refreshes live objects.
    @discardableResult
    func takeView() throws -> View {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        // Live objects are about to be refreshed, which would overwrite unpublished edits.
        publish()
        let reader = try readerForView()
        view = nil
        do {
            if isPinned {
                try reader.end()
                store.copyJournalIfLarge()
            }
            let pair = try store.layers.pair(for: reader, of: id, schema: store.schema)
            let view = View(reader: reader, sequence: pair.sequence, layers: pair.layers)
            self.view = view
            if let readRecord {
                readRecord.begin(pair, after: cursor, store.layers)
                reader.connection.readRecord = readRecord
            }
            if isPinned { ownRevision = pair.layers.revisions[id] }
            showOverlay()
            try takeOver(pair)
            if !isSaving { observers?.flush() }
            return view
        } catch {
            view = nil
            store.giveBack(reader)
            throw error
        }
    }

    /// The reader of the current view, or another reader if cursors still read the view's snapshot.
    private func readerForView() throws -> Reader {
        guard let known = view?.reader else {
            return try store.borrowReader(for: reference.label, isOfPlace: hasPlace)
        }
        guard known.isShared else { return known }
        let reader = try store.borrowReader(for: reference.label)
        store.giveBack(known)
        return reader
    }

    static var endedError: StrataError {
        StrataError(.contextEnded, "This context has ended. Fetch the objects anew in another one.")
    }

    /// Releases the snapshot. The next read takes a newer one.
    func dropView() {
        guard let reader = view?.reader else { return }
        edition &+= 1
        view = nil
        store.giveBack(reader)
    }

    /// Makes the layers of this context visible to queries on its reader.
    func showOverlay() {
        edition &+= 1
        view?.showOverlay(of: path)
    }

    /// Refreshes live objects with the saves and commits of other contexts since the last refresh.
    private func takeOver(_ pair: LayerStore.Pair) throws {
        defer {
            cursor = pair.lastEvent
            shownSequence = pair.sequence
            isTracked = true
        }
        guard identity.count > 0, let view else { return }
        observers?.noteChanges()
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        // If there are more events than objects, a refresh of all objects costs less.
        if pair.lastEvent - cursor <= identity.count + 16,
            let events = store.layers.events(after: cursor, through: pair.lastEvent),
            events.allSatisfy({ $0.unread != nil })
        {
            for event in events + (pair.inFlight.map { [LayerStore.Event(number: 0, commit: $0)] } ?? []) {
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
                for (entity, numbers) in event.unread ?? [:] {
                    let error = trackers[entity]?.refresh(liveObjects(in: numbers, entity: entity), view, path)
                    failure = failure ?? error
                }
                // If several events concern an object, the last of them determines its values.
                for (entity, part) in event.parts(for: id, seesSaved: path.count > 1 || !hasParent) {
                    observers?.noteMembers(part, of: store.schema.entities[entity].info)
                    let error = trackers[entity]?.refresh(
                        liveObjects(in: part, entity: entity),
                        of: part,
                        isCommitted: event.isCommit && !isShown,
                        view,
                        path
                    )
                    failure = failure ?? error
                }
            }
        } else {
            return try refreshAll(view)
        }
        if let failure { throw failure }
    }

    /// Refreshes all live objects from a view.
    func refreshAll(_ view: View) throws {
        // An unreadable object must not prevent the refresh of the others.
        var failure: (any Error)?
        observers?.noteAllMembers()
        var models: [Int: [any Model]] = [:]
        identity.forEach { _, object in
            if let model = object as? any Model { models[Int(model._$state.entity), default: []].append(model) }
        }
        for (entity, models) in models {
            let error = trackers[entity]?.refresh(models, view, path)
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// The live objects of a part's rows, with the indexes of the rows. They are collected before any object is
    /// refreshed, because deinitializers of old values may call this context again.
    ///
    /// Complexity: O(the smaller number of rows and live objects).
    func liveObjects(in part: any AnyPart, entity: Int) -> [(index: Int, object: AnyObject)] {
        guard let model = store.schema.model(entity) else { return [] }
        var found: [(index: Int, object: AnyObject)] = []
        let numbers = part.numbers
        if numbers.count <= identity.count * 4 {
            for index in numbers.indices {
                if let object = identity[numbers[index], model] { found.append((index, object)) }
            }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, let index = numbers.sortedIndex(of: number) {
                    found.append((index, object))
                }
            }
        }
        return found
    }

    /// The live objects of some rows.
    ///
    /// Complexity: O(the smaller number of rows and live objects).
    private func liveObjects(in numbers: NumberRuns, entity: Int) -> [any Model] {
        guard let model = store.schema.model(entity) else { return [] }
        var found: [any Model] = []
        if numbers.count <= identity.count * 4 {
            for number in numbers { if let object = identity[number, model] as? any Model { found.append(object) } }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, numbers.contains(number), let object = object as? any Model {
                    found.append(object)
                }
            }
        }
        return found
    }

    /// Moves unpublished edits into this context's layer, which queries and children read.
    func publish() {
        var parts: [Int: any AnyPart] = [:]
        for (entity, tracker) in trackers.enumerated() {
            if let part = tracker?.takePart(self) { parts[entity] = part }
        }
        if !parts.isEmpty { publish(parts) }
    }

    /// Moves edits that no tracker holds into this context's layer.
    func publish(_ parts: [Int: any AnyPart]) {
        // Edits by hooks and delete rules during a save follow from edits that are already recorded.
        if undoHistory.isOn, !isSaving {
            keepBytes(of: parts)
            undoHistory.record(parts)
        }
        push(parts)
    }

    /// Adds changes to this context's layer, both in this block's view and in the layers that other contexts read.
    func push(_ parts: [Int: any AnyPart]) {
        if let observers {
            observers.noteChanges()
            for (entity, part) in parts { observers.noteMembers(part, of: store.schema.entities[entity].info) }
        }
        let carriers = Carriers(id)
        let published = store.layers.publish(parts, carriers: carriers, by: id, seenThrough: cursor)
        if let newest = published.cursor { cursor = newest }
        if published.isBlind { standOnStore(parts) }
        guard view != nil else { return }
        if isPinned, ownRevision == published.revisions.before { ownRevision = published.revisions.after }
        view?.layers.push(parts, carriers: carriers, to: id, frozen: [])
        if let isEmpty = view?.prefetched.isEmpty, !isEmpty { view?.prefetched.forgetMembers(of: parts, store.schema) }
        showOverlay()
    }

    // MARK: Called by the context's owner

    /// Refreshes live objects with the newest state, before a block.
    func beginBlock() {
        guard !isEnded else { return }
        if isPinned { return showOwnLayer() }
        guard identity.count > 0 else { return }
        do {
            if try !store.layers.isCurrent(cursor) || store.hasForeignCommits() { try takeView() }
        } catch {
            // If the store cannot be read, the block's own reads report the error too.
            reference.report(error)
        }
    }

    /// Shows the saves and commits of a block for which the current block has waited.
    func lookAgain() {
        guard !isEnded, view != nil || identity.count > 0 else { return }
        publish()
        if isPinned { return showOwnLayer() }
        guard !store.layers.isCurrent(cursor) else { return }
        do { try takeView() } catch { reference.report(error) }
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
        view?.prefetched = Prefetched()
        observers?.flush()
        if identity.isSweepDue || !reference.isMain { _ = identity.sweep() }
        // Objects that the sweep deallocated may have read or edited objects in their deinitializers.
        publish()
        undoHistory.closeGroup()
        if isPinned { return }
        dropView()
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
        dropView()
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
            var numbers: Set<Int64> = []
            for segment in state.layers[id] {
                for part in segment.parts.values { numbers.formUnion(part.numbers) }
            }
            return numbers.count
        }
    }
}

extension ObjectContext.View {
    /// Makes the layers of these contexts, oldest first, visible to queries on the reader.
    func showOverlay(of path: [Int]) {
        var parts: [Int: [any AnyPart]] = [:]
        for context in path {
            for segment in layers[context] {
                for (entity, part) in segment.parts { parts[entity, default: []].append(part) }
            }
        }
        reader.connection.overlay.show(parts)
    }
}
