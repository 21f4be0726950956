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
}
