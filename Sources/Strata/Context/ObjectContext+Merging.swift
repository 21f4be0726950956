extension ObjectContext {
    /// Shows the newest state from now on: what others have saved and committed, beneath this context's own edits.
    ///
    /// Blocks begin with the newest state anyway. This is for those that take long, and for pinned contexts, see
    /// ``ContextMerging/pinned``.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func merge() throws { try takeView() }

    /// Lets a pinned context show what children have saved into it and what was rolled back, over the state that it is pinned to.
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

    /// Changes this context's layer by what is in the store now, and shows what came of it. `body` says whether it has changed
    /// anything, and nil where what was read is too old.
    @discardableResult
    func editLayer(_ body: (LayerReading) throws -> Bool?) throws -> Bool {
        try editLayers { try body($0).map { LayerChange(hasChanged: $0, hasChangedParent: false) } }
    }

    /// The same for changes that may also be of the parent's layer. These let a pinned context show the newest state, as saves do.
    @discardableResult
    func editLayers(_ body: (LayerReading) throws -> LayerChange?) throws -> Bool {
        publish()
        if isPinned { _ = try currentView() } else { try takeView() }
        let change = try store.readingForLayers(for: reference.label, body)
        guard change.hasChanged else { return false }
        // What this context has saved is seen through its parent's layer, of which there is an old one only.
        if isPinned && !change.hasChangedParent { showOwnLayer() } else { try takeView() }
        return true
    }

    /// Lets changes that were just published stand on what is in the store, where it is not known any more what has happened since
    /// they were made.
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
    /// Lets a pinned context go on showing what it has brought back over a delete that its view has, also once that delete was taken back
    /// elsewhere, and its change has become an update as any other.
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
            // What was taken back here meanwhile is as it was before.
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
