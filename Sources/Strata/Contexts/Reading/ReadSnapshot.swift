extension ObjectContext {
    /// The state that a context reads: a snapshot of the store and the layers above it, at the same moment.
    struct ReadSnapshot {
        let reader: Reader
        let sequence: Int64
        var layers: LayerSnapshot
        /// The relationships that queries have prefetched.
        var prefetched = Prefetched()
    }
}

extension ObjectContext.ReadSnapshot {
    /// Makes the layers of these contexts, oldest first, visible to queries on the reader.
    func showOverlay(of path: [Int]) {
        var parts: [Int: [any AnyRowChanges]] = [:]
        for context in path {
            for segment in layers[context] {
                for (entity, part) in segment.parts { parts[entity, default: []].append(part) }
            }
        }
        reader.connection.overlay.show(parts)
    }

    /// Whether others have deleted the row of an object that a context still shows, so that bytes outside of the row may
    /// be gone although the store is intact.
    ///
    /// A snapshot without the row proves this. A snapshot with the row does not disprove it: if a context has restored
    /// the object over the delete of a parent, the restoring change may show an earlier version of the stored row.
    func hasLost(_ number: Int64, entity: Int, _ context: ObjectContext) throws -> Bool {
        if layers.contains(.undelete, of: number, entity: entity, in: context.path) { return true }
        return try !reader.connection.exists(number, in: context.store.schema.entities[entity].info)
    }
}
