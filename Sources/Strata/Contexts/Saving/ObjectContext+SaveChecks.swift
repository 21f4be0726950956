extension ObjectContext {
    /// The layers that result if this context's changes are rebased onto its parent's state. Applies only to a context
    /// that reads the committed state instead of its parent.
    private func isolatedFromParents(_ layers: LayerSnapshot) -> LayerSnapshot {
        guard layers.committedOnly.contains(id), let parent = layers.parents[id] else { return layers }
        var layers = layers
        let beneath = layers.readPath(to: parent)
        for entity in store.schema.entities {
            for part in undoing.unchecked(layers[id]).compactMap({ $0.parts[entity.info.index] }) {
                part.rebase(onto: beneath, entity: entity.info.index, context: id, in: &layers)
            }
        }
        return layers
    }

    /// Checks all conditions of a save, and returns the edits that resolve conflicts. In a savepoint, changes that an
    /// earlier save has checked are left out (``ContextUndo/unchecked(_:)``).
    func checkedEdits(_ snapshot: ReadSnapshot) throws -> [Int: any LayerEdits] {
        let layers = isolatedFromParents(snapshot.layers)
        // The segments of both are at the same positions.
        let unchecked = undoing.unchecked(snapshot.layers[id])
        let first = unchecked.startIndex
        let parents = Array(layers.path(to: id).dropLast())
        var failures: [StrataError.Detail] = []
        var conflicts: [StrataError.Detail] = []
        var edits: [Int: any LayerEdits] = [:]
        for entity in store.schema.entities {
            let parts = unchecked.compactMap { $0.parts[entity.info.index] }
            guard !parts.isEmpty else { continue }
            entity.validate(parts, &failures)
            if let resolved = entity.resolveConflicts(layers, context: id, from: first, mergePolicy, &conflicts) {
                edits[entity.info.index] = resolved
            }
        }
        guard failures.isEmpty else { throw CommitJob.validationError(failures) }
        guard conflicts.isEmpty else {
            let error = CommitJob.conflictError(conflicts)
            store.telemetry.metrics?.noteConflicts(in: error)
            throw error
        }
        for (entity, edits) in edits where store.schema.keepsBytes[entity] {
            try edits.checkBytes(store.schema.entities[entity].info, snapshot.reader.connection)
        }
        try checkReferences(layers, from: first, edits, snapshot.reader.connection)
        var duplicates: [StrataError.Detail] = []
        for entity in store.schema.entities where !entity.info.uniques.isEmpty && !entity.info.isJoin {
            let path = layers.readPath(to: parents.last ?? id) + [id]
            try entity.findDuplicates(layers, path: path, from: first, snapshot.reader.connection, &duplicates)
        }
        guard duplicates.isEmpty else { throw CommitJob.notUniqueError(duplicates) }
        return edits
    }
}
