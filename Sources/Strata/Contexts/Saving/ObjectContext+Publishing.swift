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
        let published = store.layers.publish(parts, provenance: provenance, by: id, seenThrough: reading.cursor.event)
        if let newest = published.cursor { reading.cursor.event = newest }
        if published.isAncestorUnknown { rebaseOntoStore(parts) }
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
}
