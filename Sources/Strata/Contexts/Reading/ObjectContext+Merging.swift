extension ObjectContext {
    /// Shows the newest state from now on: changes that other contexts have saved and committed, beneath this context's
    /// own edits.
    ///
    /// Every block begins with the newest state anyway. Call this method in long blocks and in pinned contexts, see
    /// ``ContextMerging/pinned``.
    ///
    /// - Throws: ``StrataError`` if the store cannot be read.
    public func merge() throws { try acquireSnapshot() }

    /// Refreshes a pinned context's own layer: children's saves and rollbacks become visible, over the state to which
    /// the context is pinned.
    ///
    /// If another context has committed changes of the layer, the context shows the newest state, as after its own
    /// commit. The changes are in the store now, and no longer in the layer. Over the pinned state, the objects would
    /// return to the values from before these changes.
    func showOwnLayer() {
        guard let snapshot = reading.snapshot else { return }
        let (level, merged, revision, committed) = store.layers.state.withLock {
            ($0.layers[id], $0.mergedMembers[id] ?? [:], $0.layers.revisions[id], $0.layers.commitsByOthers[id])
        }
        guard revision != reading.ownRevision else { return }
        if let committed, committed > snapshot.sequence { return showNewest() }
        reading.ownRevision = revision
        var layers = snapshot.layers
        layers[id] = level
        layers.showMergedMembers(merged, in: id, shownIn: snapshot.layers)
        let connection = snapshot.reader.connection
        for segment in layers[id] {
            for (entity, part) in segment.parts {
                // Equal rows are replaced too: a commit may have stored bytes that the snapshot shows in memory. The
                // layer may know only their number.
                part.rebaseRead(
                    entity: entity,
                    context: id,
                    store.schema,
                    connection,
                    replacingEqual: true,
                    in: &layers
                )
                part.keepUndeleted(entity: entity, context: id, shownIn: snapshot.layers, in: &layers)
            }
        }
        reading.snapshot?.layers = layers
        showOverlay()
        do { try refreshAll(reading.snapshot ?? snapshot) } catch { reference.report(error) }
    }

    /// Changes this context's layer according to the current state of the store, and refreshes the context. `body`
    /// returns whether it has changed anything, or nil if the state that it read is outdated.
    func editLayer(_ body: (LayerReading) throws -> Bool?) throws {
        publish()
        if reading.isPinned { _ = try currentSnapshot() } else { try acquireSnapshot() }
        guard try readingForLayers(body) else { return }
        if reading.isPinned { showOwnLayer() } else { try acquireSnapshot() }
    }

    /// Calls a body with the newest state of the store, for rebasing layers onto it. If that state is outdated, the
    /// body returns nil, and is called again.
    func readingForLayers<Result>(_ body: (LayerReading) throws -> Result?) throws -> Result {
        guard let connection = reading.transaction?.connection else {
            return try store.readingForLayers(for: reference.label, body)
        }
        let newest = LayerReading(
            connection: connection,
            sequence: try connection.sequence(),
            isInTransaction: true
        )
        // Nothing can be newer than the running transaction.
        return try body(newest)!
    }
}

extension RowChanges {
    /// Keeps showing rows that a pinned context has restored over a delete in its snapshot.
    ///
    /// If another context takes back the delete, the restoring change becomes an ordinary update. The pinned snapshot
    /// still contains the delete, so the row would disappear from it.
    ///
    /// - Parameter shown: the layers as the context has shown them until now.
    func keepUndeleted(entity: Int, context: Int, shownIn shown: LayerSnapshot, in layers: inout LayerSnapshot) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in ids where layers.topKind(of: number, entity: entity, in: [context]) == .updateOfDeleted {
            let stack = layers.stack(number, entity: entity, in: context, Row.self)
            guard stack.contains(where: { $0.change.kind == .updateOfDeleted && $0.change.wasUndelete }),
                // The context shows the row, or has deleted it, and the delete was taken back.
                let last = shown.top(number, entity: entity, in: [context], Row.self),
                last.kind.isVisible || last.kind == .delete
            else { continue }
            var row = last.row
            // Start from the values before this context's changes, because some of these changes may have been taken
            // back meanwhile.
            if let base = last.base { row._$copy(last.columns, from: base.original) }
            for (_, change, position) in stack where change.kind == .updateOfDeleted {
                row._$copy(change.columns, from: change.row)
                var kept = change
                (kept.kind, kept.row) = (.undelete, row)
                edits[position, default: [:]][number] = kept
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}
