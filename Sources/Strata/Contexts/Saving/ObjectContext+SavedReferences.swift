extension ObjectContext {
    /// Checks that the parent shows the objects to which this layer refers after its conflicts are resolved.
    ///
    /// - Parameter first: the position of the first segment that is checked.
    func checkReferences(
        _ layers: LayerSnapshot,
        from first: Int,
        _ edits: [Int: any LayerEdits],
        _ connection: Connection
    ) throws {
        let schema = store.schema
        var resolved = layers
        if !edits.isEmpty {
            var level = layers[id]
            for (entity, edit) in edits { edit.apply(to: &level, entity: entity) }
            resolved[id] = level
        }
        let path = layers.path(to: id).dropLast().last.map { layers.readPath(to: $0) + [id] } ?? [id]
        var missing: [StrataError.Detail] = []
        for entity in schema.entities where !entity.info.outgoing.isEmpty {
            try entity.findDangling(
                in: Array(resolved[id][first...]),
                schema,
                isThere: { entity, number in
                    if let kind = resolved.topKind(of: number, entity: entity, in: path) { return kind.isVisible }
                    let info = schema.entities[entity].info
                    // The store's table of an unopened model may have other columns than the program's model.
                    if !schema.isOpened[entity] {
                        return try connection.integer(LinesSQL.exists(info), [.integer(number)]) != nil
                    }
                    return try connection.exists(number, in: info)
                },
                &missing
            )
        }
        guard missing.isEmpty else { throw CommitJob.missingReferenceError(missing) }
    }
}
