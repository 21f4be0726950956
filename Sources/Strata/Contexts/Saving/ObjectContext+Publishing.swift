extension ObjectContext {
    /// Moves unpublished edits into this context's layer, which queries and children read.
    func publish() {
        var parts: [Int: any AnyRowChanges] = [:]
        for (entity, tracker) in live.trackers.enumerated() {
            if let part = tracker?.flush(self) { parts[entity] = part }
        }
        if !parts.isEmpty { publish(parts) }
    }

    /// Moves edits that no tracker holds into this context's layer.
    func publish(_ parts: [Int: any AnyRowChanges]) {
        // Edits by hooks and delete rules during a save follow from edits that are already recorded.
        if undoing.history.isOn, !saving.isRunning {
            keepBytes(of: parts)
            undoing.history.record(parts)
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
        let published = publishInLayer(parts, provenance)
        if case .moved(let newest) = published.advance { reading.cursor.event = newest }
        guard reading.snapshot != nil else { return }
        if reading.isPinned, reading.ownRevision == published.revisions.before {
            reading.ownRevision = published.revisions.after
        }
        reading.snapshot?.layers.push(parts, provenance: provenance, to: id, frozen: [])
        if let isEmpty = reading.snapshot?.prefetched.isEmpty, !isEmpty {
            reading.snapshot?.prefetched.forgetMembers(of: parts, store.schema)
        }
        showOverlay()
    }

    /// Adds changes to the layer that other contexts read. The rows below the changes are read from the store if the
    /// log does not show how they have changed since.
    private func publishInLayer(
        _ parts: [Int: any AnyRowChanges],
        _ provenance: Provenance
    ) -> LayerRegistry.Published {
        let cursor = reading.cursor.event
        let published = store.layers.publishIfAncestorsAreKnown(
            parts,
            provenance: provenance,
            by: id,
            seenThrough: cursor
        )
        if let published { return published }
        do {
            return try readingForLayers {
                try store.layers.publish(parts, provenance: provenance, by: id, seenThrough: cursor, store.schema, $0)
            }
        } catch {
            // The edits must not be lost. A later save or commit still detects their conflicts.
            reference.report(error)
            return store.layers.publish(parts, provenance: provenance, by: id, seenThrough: cursor)
        }
    }
}
