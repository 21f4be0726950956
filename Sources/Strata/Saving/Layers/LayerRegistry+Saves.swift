extension LayerRegistry {
    /// Moves a context's segments to its parent, by reference. If the layers have changed from `layers`, it does
    /// nothing and returns false.
    ///
    /// - Parameter moved: called with the parent, before any other context can see or commit the segments there.
    func moveUp(
        from context: Int,
        expecting layers: LayerSnapshot,
        edits: [Int: any LayerEdits],
        schema: Schema,
        _ reading: LayerReading,
        moved: (_ parent: Int) -> Void
    ) throws -> Bool {
        let path = layers.path(to: context)
        let isMoved = try rebasing(onto: reading, schema, by: context) { state in
            guard path.allSatisfy({ state.layers.revisions[$0] == layers.revisions[$0] }) else { return false }
            let unresolved = edits.isEmpty ? [] : state.layers[context]
            var resolved = unresolved
            for (entity, edit) in edits { edit.apply(to: &resolved, entity: entity) }
            if !edits.isEmpty { state.layers[context] = resolved.filter { !$0.parts.isEmpty } }
            let parent = path[path.count - 2]
            let (taken, fixed) = (state.taken, state.fixed)
            for (entity, edit) in edits {
                edit.cancelDeletes(in: &state.layers, context: parent, entity: entity, frozen: taken)
            }
            let segments = state.layers[context]
            state.layers[context] = []
            for segment in segments {
                state.layers.push(
                    segment.parts,
                    provenance: segment.provenance.adding(context),
                    to: parent,
                    frozen: fixed,
                    keeping: fixed.contains(segment.id) ? segment.id : nil
                )
            }
            // The parent's own layer is rebased too, because a save from over the committed state may now lie on top of
            // it.
            let others = [parent] + state.layers.descendants(of: parent)
            // A context over the committed state does not see what it has moved to its parent. Changes that it has
            // dropped are not seen by it either.
            let isCommittedOnly = state.layers.committedOnly.contains(context)
            let changed = isCommittedOnly ? [parent, context] : [parent]
            for segment in segments {
                state.layers.rebaseAll(segment.parts, in: others)
                for layer in changed { state.log.record(.layer(layer), segment.parts) }
            }
            // Dropped changes are no longer among the segments. Their rows show the state beneath.
            for segment in unresolved {
                state.layers.rebaseAll(segment.parts, in: others, schema, reading: reading.connection)
                for layer in changed { state.log.record(.layer(layer), segment.parts) }
            }
            moved(parent)
            return true
        }
        return isMoved ?? false
    }
}
