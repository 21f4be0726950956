extension ObjectContext {
    /// What this context reads from, taken now if this block has not read yet.
    func currentView() throws -> View {
        if let view { return view }
        return try takeView()
    }

    /// The connection of the current view, without a copy of that.
    func currentConnection() throws -> Connection {
        if let connection = view?.reader.connection { return connection }
        return try takeView().reader.connection
    }

    /// Takes the newest snapshot with the layers that belong to it, and lets live objects show what has changed.
    @discardableResult
    func takeView() throws -> View {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        // Live objects are about to be shown anew, and what nobody has published would be lost on them.
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

    /// The reader of the view, or another one where cursors go on reading the snapshot that the view had.
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

    /// Lets go of the snapshot. The next read takes a newer one.
    func dropView() {
        guard let reader = view?.reader else { return }
        edition &+= 1
        view = nil
        store.giveBack(reader)
    }

    /// Shows the layers of this context to queries on its reader.
    func showOverlay() {
        edition &+= 1
        view?.showOverlay(of: path)
    }

    /// Lets live objects show what others have saved and committed since they last did.
    private func takeOver(_ pair: LayerStore.Pair) throws {
        defer {
            cursor = pair.lastEvent
            shownSequence = pair.sequence
            isTracked = true
        }
        guard identity.count > 0, let view else { return }
        observers?.noteChanges()
        // An object that cannot be read keeps no other from being shown.
        var failure: (any Error)?
        // Where more has happened than there are objects, it is the objects that are looked at.
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
                // It was in flight when the objects were shown last: by now they may show more than it has written.
                var isShown = false
                if case .commit(let number, _, _) = event.cause { isShown = number <= shownSequence }
                // Whose members these are is not known.
                if let unread = event.unread, !unread.isEmpty { observers?.noteAllMembers() }
                for (entity, numbers) in event.unread ?? [:] {
                    let error = trackers[entity]?.refresh(liveObjects(in: numbers, entity: entity), view, path)
                    failure = failure ?? error
                }
                // An object that several events concern is shown by the last of them.
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

    /// Lets all live objects show what a view has of them.
    func refreshAll(_ view: View) throws {
        // An object that cannot be read keeps no other from being shown.
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

    /// The objects that live here of the rows of a part, with the places of these. Gathered before they are shown anew:
    /// what goes away with their old values may come back here.
    ///
    /// Complexity: O(the shorter of rows and live objects).
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

    /// The objects that live here of some rows.
    ///
    /// Complexity: O(the shorter of rows and live objects).
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

    /// Puts unpublished edits into this context's layer, where queries and children see them.
    func publish() {
        var parts: [Int: any AnyPart] = [:]
        for (entity, tracker) in trackers.enumerated() {
            if let part = tracker?.takePart(self) { parts[entity] = part }
        }
        if !parts.isEmpty { publish(parts) }
    }

    /// Puts edits into this context's layer that no tracker has.
    func publish(_ parts: [Int: any AnyPart]) {
        // What hooks and delete rules do in a save follows from edits that are recorded already.
        if undoHistory.isOn, !isSaving {
            keepBytes(of: parts)
            undoHistory.record(parts)
        }
        push(parts)
    }

    /// Adds changes to this context's layer, in the view of this block and for everybody else.
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

    /// Before a block: live objects show the newest state.
    func beginBlock() {
        guard !isEnded else { return }
        if isPinned { return showOwnLayer() }
        guard identity.count > 0 else { return }
        do {
            if try !store.layers.isCurrent(cursor) || store.hasForeignCommits() { try takeView() }
        } catch {
            // Where the store cannot be read, the block's own reads say so too.
            reference.report(error)
        }
    }

    /// In a block, after another one that it has waited for: what that has saved and committed is shown.
    func lookAgain() {
        guard !isEnded, view != nil || identity.count > 0 else { return }
        publish()
        if isPinned { return showOwnLayer() }
        guard !store.layers.isCurrent(cursor) else { return }
        do { try takeView() } catch { reference.report(error) }
    }

    /// After a turn of the main actor: live objects show what has happened meanwhile.
    func endTurn() {
        turnHasEnded()
        beginBlock()
        endBlock()
        turnHasEnded()
    }

    /// After a block or a turn of the main actor.
    func endBlock() {
        guard !isEnded else { return }
        publish()
        view?.prefetched = Prefetched()
        observers?.flush()
        if identity.isSweepDue || !reference.isMain { _ = identity.sweep() }
        // Objects that went away may have read or edited something on their way.
        publish()
        undoHistory.closeGroup()
        if isPinned { return }
        dropView()
        let wasTracked = isTracked
        isTracked = identity.count > 0
        if wasTracked || isTracked { store.layers.track(id, cursor: isTracked ? cursor : nil) }
    }

    /// Drops unsaved changes and gives the number of objects that had any.
    func discard() -> Int {
        let count = changeCount
        for tracker in trackers { tracker?.discard() }
        failedInserts.removeAll()
        deleteEffects.removeAll()
        store.layers.clear(id)
        return count
    }

    /// Detaches all objects: their last values stay readable, and nothing can be saved any more.
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
        // The objects go away with the map, once it is nobody's any more.
        var objects = IdentityMap()
        swap(&objects, &identity)
    }

    /// How many rows this context holds changes of.
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
    /// Shows the layers of these contexts, oldest first, to queries on the reader.
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
