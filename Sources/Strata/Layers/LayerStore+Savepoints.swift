/// What the layers were when a savepoint began.
struct LayerSavepoint {
    let context: Int
    /// The context that saves go to; nil for the store.
    let parent: Int?
    /// The segments of both, held in place so that what comes is told from what was there.
    let own: [Segment]
    let parents: [Segment]

    var held: Set<Int> { Set((own + parents).map(\.id)) }
}

extension LayerStore {
    func beginSavepoint(in context: Int, of hasParent: Bool) -> LayerSavepoint {
        state.withLock { state in
            let parent = hasParent ? state.layers.parents[context] : nil
            let savepoint = LayerSavepoint(
                context: context,
                parent: parent,
                own: state.layers[context],
                parents: parent.map { state.layers[$0] } ?? []
            )
            for segment in savepoint.held { state.frozen[segment, default: 0] += 1 }
            return savepoint
        }
    }

    /// Lets go of the segments, and merges what has become mergeable.
    func endSavepoint(_ savepoint: LayerSavepoint) {
        thaw(savepoint.held)
        state.withLock { state in
            let frozen = Set(state.frozen.keys)
            for context in [savepoint.context, savepoint.parent].compactMap(\.self) {
                state.layers.mergeTop(of: context, frozen: frozen)
            }
        }
    }

    /// Takes back what a context has changed since a savepoint, in its own layer and in its parent's. Says whether there was
    /// anything.
    func restore(_ savepoint: LayerSavepoint, _ schema: Schema, _ connection: Connection) -> Bool {
        let context = savepoint.context
        let touched = state.withLock { state -> [[Int: any AnyPart]] in
            let ownIDs = Set(savepoint.own.map(\.id))
            let now = state.layers[context]
            let above = savepoint.parent.map { state.layers[$0] } ?? []
            let present = Set((now + above).map(\.id))
            // What was saved to the parent meanwhile, and not taken by a commit since.
            let isSaved = above.contains {
                ownIDs.contains($0.id) || savepoint.isNew($0) && $0.carriers.contains(context)
            }
            var touched: [[Int: any AnyPart]] = []
            var own = savepoint.own.filter { present.contains($0.id) }
            for segment in now where savepoint.isNew(segment) {
                if segment.carriers == Carriers(context) { touched.append(segment.parts) } else { own.append(segment) }
            }
            if isSaved, let parent = savepoint.parent {
                var rest: [Segment] = []
                for segment in above {
                    if ownIDs.contains(segment.id) {
                        touched.append(segment.parts)
                    } else if !savepoint.isNew(segment) {
                        // Saving may have cancelled deletes in it.
                        let before = savepoint.parents.first { $0.id == segment.id }
                        rest.append(before ?? segment)
                    } else if segment.carriers == Carriers(context) {
                        touched.append(segment.parts)
                    } else if segment.carriers.contains(context) {
                        // A child has saved it here meanwhile, and it went up with the rest.
                        touched.append(segment.parts)
                        own.append(segment.carried(by: segment.carriers.contexts.filter { $0 != context }))
                    } else {
                        rest.append(segment)
                    }
                }
                state.layers[parent] = rest
                for segment in rest { touched.append(segment.parts) }
            }
            guard !touched.isEmpty || own.map(\.id) != now.map(\.id) else { return [] }
            state.layers[context] = own
            let base = savepoint.parent.flatMap { isSaved ? $0 : nil } ?? context
            for other in [base] + state.layers.descendants(of: base) {
                for parts in touched {
                    for (entity, part) in parts {
                        part.rebaseRead(entity: entity, context: other, schema, connection, in: &state.layers)
                    }
                }
            }
            for parts in touched {
                if isSaved, let parent = savepoint.parent { state.note(.layer(parent), parts) }
                state.note(.layer(context), parts)
            }
            return touched
        }
        if !touched.isEmpty { tellWatchers(of: context) }
        return !touched.isEmpty
    }
}

extension LayerSavepoint {
    func isNew(_ segment: Segment) -> Bool {
        !own.contains { $0.id == segment.id } && !parents.contains { $0.id == segment.id }
    }
}

extension Segment {
    fileprivate func carried(by contexts: [Int]) -> Segment {
        Segment(id: id, carriers: Carriers(contexts), parts: parts, isParted: isParted)
    }
}
