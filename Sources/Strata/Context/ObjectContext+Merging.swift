extension ObjectContext {
    /// Shows the newest state from now on: changes that other contexts have saved and committed, beneath this context's
    /// own edits.
    ///
    /// Every block begins with the newest state anyway. Call this method in long blocks and in pinned contexts, see
    /// ``ContextMerging/pinned``.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func merge() throws { try takeView() }

    /// Refreshes a pinned context's own layer: children's saves and rollbacks become visible, over the state to which
    /// the context is pinned.
    func showOwnLayer() {
        guard let view else { return }
        let (level, revision) = store.layers.state.withLock { ($0.layers[id], $0.layers.revisions[id]) }
        guard revision != ownRevision else { return }
        ownRevision = revision
        var layers = view.layers
        layers[id] = level
        for segment in level {
            for (entity, part) in segment.parts {
                part.rebaseRead(entity: entity, context: id, store.schema, view.reader.connection, in: &layers)
                part.keepBroughtBack(entity: entity, context: id, shownIn: view.layers, in: &layers)
            }
        }
        self.view?.layers = layers
        showOverlay()
        do { try refreshAll(self.view ?? view) } catch { reference.report(error) }
    }

    /// Changes this context's layer according to the current state of the store, and refreshes the context. `body`
    /// returns whether it has changed anything, or nil if the state that it read is outdated.
    @discardableResult
    func editLayer(_ body: (LayerReading) throws -> Bool?) throws -> Bool {
        try editLayers { try body($0).map { LayerChange(hasChanged: $0, hasChangedParent: false) } }
    }

    /// The same for changes that may also affect the parent's layer. Such changes make a pinned context show the newest
    /// state, as saves do.
    @discardableResult
    func editLayers(_ body: (LayerReading) throws -> LayerChange?) throws -> Bool {
        publish()
        if isPinned { _ = try currentView() } else { try takeView() }
        let change = try store.readingForLayers(for: reference.label, body)
        guard change.hasChanged else { return false }
        // This context's saved changes are visible only through the parent's layer. The pinned view has an old version
        // of that layer, so the context takes the newest view.
        if isPinned && !change.hasChangedParent { showOwnLayer() } else { try takeView() }
        return true
    }

    /// Rebases changes that were just published onto the store's state. Called if the events since the changes were
    /// made are no longer known.
    func standOnStore(_ parts: [Int: any AnyPart]) {
        do {
            try store.readingForLayers(for: reference.label) {
                try store.layers.standOnStore(parts, in: id, store.schema, $0)
            }
        } catch {
            reference.report(error)
        }
    }
}

extension Part {
    /// Keeps showing rows that a pinned context has restored over a delete in its view.
    ///
    /// If another context takes back the delete, the restoring change becomes an ordinary update. The pinned view still
    /// contains the delete, so the row would disappear from it.
    ///
    /// - Parameter shown: the layers as the context has shown them until now.
    func keepBroughtBack(entity: Int, context: Int, shownIn shown: Layers, in layers: inout Layers) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers where layers.topKind(of: number, entity: entity, in: [context]) == .orphan {
            let stack = layers.stack(number, entity: entity, in: context, Row.self)
            guard stack.contains(where: { $0.change.kind == .orphan && $0.change.hasBroughtBack }),
                let last = shown.top(number, entity: entity, in: [context], Row.self), last.kind.isVisible
            else { continue }
            var row = last.row
            // Start from the values before this context's changes, because some of these changes may have been taken
            // back meanwhile.
            if let base = last.base { row._$copy(last.columns, from: base.seen) }
            for (_, change, position) in stack where change.kind == .orphan {
                row._$copy(change.columns, from: change.row)
                var kept = change
                (kept.kind, kept.row) = (.restore, row)
                edits[position, default: [:]][number] = kept
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}
