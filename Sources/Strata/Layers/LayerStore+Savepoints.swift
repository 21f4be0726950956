/// What the layers were when a savepoint began.
struct LayerSavepoint {
    let context: Int
    /// The context that saves go to; nil for the store.
    let parent: Int?
    /// The segments of both, which are not merged with what comes, so that it can be told from them.
    let own: [Segment]
    let parents: [Segment]
    /// The id of the first segment that was published in it, by whomever.
    let first: Int

    var held: Set<Int> { Set((own + parents).map(\.id)) }

    /// Whether changes were made in it. Others may have come back that were elsewhere when it began: a savepoint of the parent
    /// that had saved them has come to nothing.
    func isNew(_ segment: Segment) -> Bool { segment.age.lowerBound >= first }
}

extension LayerStore {
    func beginSavepoint(in context: Int, of hasParent: Bool) -> LayerSavepoint {
        state.withLock { state in
            let parent = hasParent ? state.layers.parents[context] : nil
            let savepoint = LayerSavepoint(
                context: context,
                parent: parent,
                own: state.layers[context],
                parents: parent.map { state.layers[$0] } ?? [],
                first: state.layers.beginSavepoint()
            )
            state.held.count(savepoint.held)
            return savepoint
        }
    }

    func endSavepoint(_ savepoint: LayerSavepoint) {
        state.withLock { state in
            state.held.uncount(savepoint.held)
            state.layers.endSavepoint(savepoint.first)
            state.emptied.formIntersection(state.held.keys)
            let fixed = state.fixed
            for context in [savepoint.context, savepoint.parent].compactMap(\.self) {
                state.layers.mergeTop(of: context, frozen: fixed)
            }
        }
    }

    /// Takes back what a context has changed since a savepoint, in its own layer and in its parent's. Says whether there was
    /// anything, and whether also in the parent's; nil where what was read is too old to stand on.
    func restore(_ savepoint: LayerSavepoint, _ schema: Schema, _ reading: LayerReading) throws -> LayerChange? {
        let context = savepoint.context
        let result = try standing(on: reading, schema) { state in
            var touched: [[Int: any AnyPart]] = []
            let own = savepoint.ownSegments(state.layers, state.emptied, &touched)
            let rest = savepoint.parentSegments(state.layers, state.emptied, &touched)
            guard !touched.isEmpty else { return LayerChange(hasChanged: false, hasChangedParent: false) }
            state.layers[context] = own
            if let rest, let parent = savepoint.parent { state.layers[parent] = rest }
            for segment in own + (rest ?? []) { state.emptied.remove(segment.id) }
            let lowest = rest == nil ? context : savepoint.parent ?? context
            for other in [lowest] + state.layers.descendants(of: lowest) {
                for parts in touched {
                    for (entity, part) in parts {
                        part.rebaseRead(entity: entity, context: other, schema, reading.connection, in: &state.layers)
                    }
                }
            }
            for parts in touched {
                if lowest != context { state.note(.layer(lowest), parts) }
                state.note(.layer(context), parts)
            }
            return LayerChange(hasChanged: true, hasChangedParent: rest != nil)
        }
        if let result, result.hasChanged { tellWatchers(of: context) }
        return result
    }
}

extension LayerSavepoint {
    /// The context's own layer as it was, with what others have saved there since. Adds what is not in it any more, or again.
    ///
    /// - Parameter emptied: segments of which a save has left nothing.
    fileprivate func ownSegments(
        _ layers: Layers,
        _ emptied: Set<Int>,
        _ touched: inout [[Int: any AnyPart]]
    ) -> [Segment] {
        let now = Dictionary(layers[context].map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let above = Set(parent.map { layers[$0].map(\.id) } ?? [])
        var result: [Segment] = []
        for segment in own {
            if let current = now[segment.id] {
                // As it is by now, on top of what others have committed since.
                result.append(current.withDeletes(of: segment, &touched))
            } else if above.contains(segment.id) || emptied.contains(segment.id) {
                touched.append(segment.parts)
                result.append(segment)
            }
            // Else a commit has taken it.
        }
        let known = Set(own.map(\.id))
        for segment in layers[context] where !known.contains(segment.id) {
            if isNew(segment) && segment.carriers == Carriers(context) {
                touched.append(segment.parts)
            } else {
                result.append(segment)
            }
        }
        guard let parent else { return result }
        // What a child has saved here meanwhile, and went up with the rest.
        for segment in layers[parent] where isNew(segment) && segment.carriers.contains(context) {
            let others = segment.carriers.contexts.filter { $0 != context }
            if others.isEmpty { continue }
            touched.append(segment.parts)
            result.append(
                Segment(
                    id: segment.id,
                    carriers: Carriers(others),
                    parts: segment.parts,
                    age: segment.age,
                    isParted: segment.isParted
                )
            )
        }
        return result
    }

    /// The parent's layer without what the context has saved there; nil where it has saved nothing.
    ///
    /// - Parameter emptied: segments of which a save has left nothing.
    fileprivate func parentSegments(
        _ layers: Layers,
        _ emptied: Set<Int>,
        _ touched: inout [[Int: any AnyPart]]
    ) -> [Segment]? {
        guard let parent else { return nil }
        let moved = Set(own.map(\.id))
        let isSaved = layers[parent].contains { moved.contains($0.id) || isNew($0) && $0.carriers.contains(context) }
        guard isSaved else { return nil }
        let before = Dictionary(parents.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var result: [Segment] = []
        // What is there stays in its order; it is not that of `parents` where some were elsewhere when this began.
        for segment in layers[parent] {
            if let old = before[segment.id] {
                result.append(segment.withDeletes(of: old, &touched))
            } else if moved.contains(segment.id) || isNew(segment) && segment.carriers.contains(context) {
                touched.append(segment.parts)
            } else {
                result.append(segment)
            }
        }
        // What a save has left nothing of lies above the same as before.
        var place = 0
        for segment in parents {
            if let found = result.firstIndex(where: { $0.id == segment.id }) {
                place = found + 1
            } else if emptied.contains(segment.id) {
                touched.append(segment.parts)
                result.insert(segment, at: place)
                place += 1
            }
        }
        return result
    }
}

extension Segment {
    /// The same with the deletes that it had, where they were taken back since.
    fileprivate func withDeletes(of old: Segment, _ touched: inout [[Int: any AnyPart]]) -> Segment {
        var result = self
        for (entity, part) in old.parts where part.kinds.contains(.delete) {
            guard let deletes = part.deletes(missingIn: parts[entity]) else { continue }
            touched.append([entity: deletes])
            result.parts[entity] = parts[entity]?.replacing(by: deletes) ?? deletes
        }
        return result
    }
}

extension Part {
    func deletes(missingIn current: (any AnyPart)?) -> (any AnyPart)? {
        let current = current?.typed(Row.self)
        let missing = changes.filter { $0.kind == .delete && current?[$0.row._$number]?.kind != .delete }
        return missing.isEmpty ? nil : Part(unsorted: missing)
    }

    func replacing(by newer: any AnyPart) -> any AnyPart { merged(with: newer.typed(Row.self)) { $1 } }
}
