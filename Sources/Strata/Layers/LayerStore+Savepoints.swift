/// What the layers were when a savepoint began.
struct LayerSavepoint {
    let context: Int
    /// The context that saves go to; nil for the store.
    let parent: Int?
    /// The layers of all contexts. The segments of these two are not merged with what comes, so that it can be told from them.
    let layers: Layers
    /// The id of the first segment that was published in it, by whomever.
    let first: Int

    var own: [Segment] { layers[context] }
    var parents: [Segment] { parent.map { layers[$0] } ?? [] }
    var held: Set<Int> { Set((own + parents).map(\.id)) }

    /// Whether changes were made in it.
    func isNew(_ segment: Segment) -> Bool { segment.age.lowerBound >= first }

    /// Whether the context has saved it upward in it. What it had saved before may have been elsewhere when this began, and have come
    /// back: a savepoint of the parent that had saved it on has come to nothing.
    func isCarried(_ segment: Segment) -> Bool { segment.moves[context].map { $0.lowerBound >= first } ?? false }
}

extension LayerStore {
    func beginSavepoint(in context: Int, of hasParent: Bool) -> LayerSavepoint {
        state.withLock { state in
            let parent = hasParent ? state.layers.parents[context] : nil
            let layers = state.layers
            let first = state.layers.beginSavepoint()
            let savepoint = LayerSavepoint(context: context, parent: parent, layers: layers, first: first)
            state.held.count(savepoint.held)
            return savepoint
        }
    }

    func endSavepoint(_ savepoint: LayerSavepoint) {
        state.withLock { state in
            state.held.uncount(savepoint.held)
            state.layers.endSavepoint(savepoint.first)
            state.emptied.formIntersection(state.held.keys)
            if state.held.isEmpty { (state.overruled, state.takenAlong) = ([:], [:]) }
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
            let own = savepoint.ownSegments(state, &touched)
            let rest = savepoint.parentSegments(state, &touched)
            guard !touched.isEmpty else { return LayerChange(hasChanged: false, hasChangedParent: false) }
            state.layers[context] = own
            if let rest, let parent = savepoint.parent { state.layers[parent] = rest }
            for segment in own + (rest ?? []) { state.emptied.remove(segment.id) }
            let lowest = rest == nil ? context : savepoint.parent ?? context
            var concerned = [lowest] + state.layers.descendants(of: lowest)
            // One over the committed state alone does not see its parent's layer.
            if !concerned.contains(context) { concerned.append(context) }
            for other in concerned {
                for parts in touched {
                    for (entity, part) in parts {
                        part.regain(entity: entity, context: other, from: savepoint.layers, in: &state.layers)
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
    fileprivate func ownSegments(_ state: LayerStore.State, _ touched: inout [[Int: any AnyPart]]) -> [Segment] {
        let layers = state.layers
        let now = Dictionary(layers[context].map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let above = Set(parent.map { layers[$0].map(\.id) } ?? [])
        let known = Set(own.map(\.id))
        var result: [Segment] = []
        for segment in own {
            if let current = now[segment.id] {
                // As it is by now, on top of what others have committed since.
                result.append(current.withDeletes(of: segment, &touched))
            } else if above.contains(segment.id) || state.emptied.contains(segment.id) {
                touched.append(segment.parts)
                result.append(state.withoutTakenAlong(segment))
            }
            // Else a commit has taken it.
        }
        // What a child has saved here meanwhile, and went up with the rest; then what it has saved after that.
        for segment in parent.map({ layers[$0] }) ?? [] where isCarried(segment) && !known.contains(segment.id) {
            let others = segment.carriers.contexts.filter { $0 != context }
            if others.isEmpty { continue }
            touched.append(segment.parts)
            result.append(
                Segment(
                    id: segment.id,
                    carriers: Carriers(others),
                    parts: segment.parts,
                    age: segment.age,
                    moves: segment.moves.filter { $0.key != context },
                    isParted: segment.isParted
                )
            )
        }
        for segment in layers[context] where !known.contains(segment.id) {
            if isNew(segment) && segment.carriers == Carriers(context) {
                touched.append(segment.parts)
            } else {
                result.append(segment)
            }
        }
        return result.filter { !$0.parts.isEmpty }
    }

    /// The parent's layer without what the context has saved there; nil where it has saved nothing.
    fileprivate func parentSegments(_ state: LayerStore.State, _ touched: inout [[Int: any AnyPart]]) -> [Segment]? {
        guard let parent else { return nil }
        let layers = state.layers
        guard layers[parent].contains(where: isCarried) else { return nil }
        let before = Dictionary(parents.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let overruled = state.overruled[context] ?? [:]
        var result: [Segment] = []
        // What is there stays in its order; it is not that of `parents` where some were elsewhere when this began.
        for segment in layers[parent] {
            if isCarried(segment) {
                touched.append(segment.parts)
            } else if let old = before[segment.id] {
                result.append(segment.withDeletes(of: old, overruled: overruled[segment.id] ?? [:], &touched))
            } else {
                result.append(segment)
            }
        }
        // What a save has left nothing of lies above the same as before.
        var place = 0
        for segment in parents {
            if let found = result.firstIndex(where: { $0.id == segment.id }) {
                place = found + 1
            } else if state.emptied.contains(segment.id) {
                touched.append(segment.parts)
                result.insert(segment, at: place)
                place += 1
            }
        }
        return result
    }
}

extension LayerStore.State {
    /// Notes the rows that a commit has taken along out of layers that are not its own (H21).
    mutating func noteTakenAlong(_ record: CommitRecord) {
        for (entity, numbers) in record.wentAlong {
            for number in numbers { takenAlong[entity, default: [:]][number] = layers.nextSegment }
        }
    }

    /// A segment as it was, without what a commit has taken along since: that is in the store.
    fileprivate func withoutTakenAlong(_ segment: Segment) -> Segment {
        guard !takenAlong.isEmpty else { return segment }
        var result = segment
        for (entity, part) in segment.parts {
            guard let taken = takenAlong[entity] else { continue }
            result.parts[entity] = part.filtered { number in taken[number].map { $0 <= segment.age.upperBound } ?? true
            }
        }
        return result
    }
}

extension Segment {
    /// The same with the deletes that it had, where they were taken back since.
    ///
    /// - Parameter overruled: the only rows that count, by entity; nil for all.
    fileprivate func withDeletes(
        of old: Segment,
        overruled: [Int: Set<Int64>]? = nil,
        _ touched: inout [[Int: any AnyPart]]
    ) -> Segment {
        var result = self
        for (entity, part) in old.parts where part.kinds.contains(.delete) {
            let missing = part.deletes(missingIn: parts[entity])
            let deletes =
                overruled.map { rows in
                    missing?.filtered { rows[entity]?.contains($0) ?? false }
                } ?? missing
            guard let deletes else { continue }
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

    /// Lets changes whose rows were gone beneath them, and have been there in the meantime, be what they were: they bring their rows back,
    /// or wait for their conflict, and show what they have shown.
    func regain(entity: Int, context: Int, from older: Layers, in layers: inout Layers) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers {
            let before = older.stack(number, entity: entity, in: context, Row.self)
                .filter { $0.change.kind == .restore || $0.change.kind == .orphan }
            if before.isEmpty { continue }
            for (_, change, position) in layers.stack(number, entity: entity, in: context, Row.self) {
                let segment = layers[context][position].id
                guard change.kind == .update,
                    let old = before.first(where: { older[context][$0.segment].id == segment })?.change,
                    old.columns == change.columns
                else { continue }
                edits[position, default: [:]][number] = Change(
                    kind: old.kind,
                    columns: old.columns,
                    row: old.row,
                    base: change.base?.over(.gone),
                    hasBroughtBack: old.hasBroughtBack
                )
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}
