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

    /// Sentences that say where a row comes from whose bytes this snapshot lacks, and whether the newest state has them.
    func origin(of external: ExternalData, inRow row: Int64, entity: Int, _ context: ObjectContext) -> String {
        let number = external.number ?? 0
        let reference = context.reference
        var source = "The row is in the store"
        // The last change is the topmost one.
        for layer in context.path {
            for segment in layers[layer] {
                guard let part = segment.parts[entity], let index = part.index(of: row) else { continue }
                let authors = segment.provenance.contexts.map { reference.name(of: $0) }.joined(separator: ", ")
                let owner = reference.name(of: layer)
                source = "The row is a change (\(part.kind(at: index))) by \(authors) in the layer of \(owner)"
            }
        }
        let newest = try? context.store.reading(for: reference.label) { connection, sequence in
            let isThere = try connection.value(ExternalSQL.exists, [.integer(number)]) != nil
            return "Commit \(sequence), the newest one, \(isThere ? "has" : "lacks") these bytes."
        }
        return "The row refers to the bytes \(number). \(source), at commit \(self.sequence). "
            + (newest ?? "The newest commit cannot be read.")
    }
}
