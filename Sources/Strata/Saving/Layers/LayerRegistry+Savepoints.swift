/// The state of the layers when a savepoint began.
struct LayerSavepoint {
    let context: Int
    /// The context that saves go to; nil for the store.
    let parent: Int?
    /// The layers of all contexts. The segments of these two contexts are not merged with later ones, so that later
    /// changes can be told apart.
    let layers: LayerSnapshot
    /// The id of the first segment that was published within the savepoint, by any context.
    let first: Int

    var own: [ChangeSegment] { layers[context] }
    var parents: [ChangeSegment] { parent.map { layers[$0] } ?? [] }
    var held: Set<Int> { Set((own + parents).map(\.id)) }

    /// Whether the segment's changes were made within the savepoint.
    func isNew(_ segment: ChangeSegment) -> Bool { segment.age.lowerBound >= first }

    /// Whether the context has saved the segment upward within the savepoint.
    ///
    /// Segments that it saved earlier may have been elsewhere when the savepoint began, and have come back. This occurs
    /// if the parent had saved them further, and then rolled back a savepoint.
    func isSavedUpward(_ segment: ChangeSegment) -> Bool {
        segment.moves[context].map { $0.lowerBound >= first } ?? false
    }
}

extension LayerRegistry {
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
            if state.held.isEmpty { (state.overruled, state.includedRows) = ([:], [:]) }
            let fixed = state.fixed
            for context in [savepoint.context, savepoint.parent].compactMap(\.self) {
                state.layers.mergeTop(of: context, frozen: fixed)
            }
        }
    }

    /// Undoes a context's changes since a savepoint, in its own layer and in its parent's.
    ///
    /// - Returns: whether there were any, and whether also in the parent's layer; nil if the reading is too old.
    func restore(_ savepoint: LayerSavepoint, _ schema: Schema, _ reading: LayerReading) throws -> LayerChange? {
        let context = savepoint.context
        let result = try rebasing(onto: reading, schema) { state in
            var touched: [[Int: any AnyRowChanges]] = []
            let own = savepoint.ownSegments(state, &touched)
            let rest = savepoint.parentSegments(state, &touched)
            guard !touched.isEmpty else { return LayerChange(hasChanged: false, hasChangedParent: false) }
            state.layers[context] = own
            if let rest, let parent = savepoint.parent { state.layers[parent] = rest }
            for segment in own + (rest ?? []) { state.emptied.remove(segment.id) }
            let lowest = rest == nil ? context : savepoint.parent ?? context
            var concerned = [lowest] + state.layers.descendants(of: lowest)
            // A context that reads only the committed state is not among the descendants of its parent.
            if !concerned.contains(context) { concerned.append(context) }
            for other in concerned {
                for parts in touched {
                    for (entity, part) in parts {
                        part.restoreKinds(entity: entity, context: other, from: savepoint.layers, in: &state.layers)
                        part.rebaseRead(entity: entity, context: other, schema, reading.connection, in: &state.layers)
                    }
                }
            }
            for parts in touched {
                if lowest != context { state.recordEvent(.layer(lowest), parts) }
                state.recordEvent(.layer(context), parts)
            }
            return LayerChange(hasChanged: true, hasChangedParent: rest != nil)
        }
        if let result, result.hasChanged { notifyWatchers(of: context) }
        return result
    }
}

extension LayerSavepoint {
    /// The context's own layer as it was, with the changes that others have saved there since. Adds parts to `touched`
    /// that are removed from the layer, or return to it.
    fileprivate func ownSegments(_ state: LayerRegistry.State, _ touched: inout [[Int: any AnyRowChanges]])
        -> [ChangeSegment]
    {
        let layers = state.layers
        let now = Dictionary(layers[context].map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let above = Set(parent.map { layers[$0].map(\.id) } ?? [])
        let known = Set(own.map(\.id))
        var result: [ChangeSegment] = []
        for segment in own {
            if let current = now[segment.id] {
                // In its current state, based on later commits of others.
                result.append(current.withDeletes(of: segment, &touched))
            } else if above.contains(segment.id) || state.emptied.contains(segment.id) {
                touched.append(segment.parts)
                result.append(state.withoutIncludedRows(segment))
            }
            // Otherwise a commit has taken the segment.
        }
        // First the changes that a child has saved here meanwhile and that were saved upward with the rest, then its
        // later ones.
        for segment in parent.map({ layers[$0] }) ?? [] where isSavedUpward(segment) && !known.contains(segment.id) {
            let others = segment.provenance.contexts.filter { $0 != context }
            if others.isEmpty { continue }
            touched.append(segment.parts)
            result.append(
                ChangeSegment(
                    id: segment.id,
                    provenance: Provenance(others),
                    parts: segment.parts,
                    age: segment.age,
                    moves: segment.moves.filter { $0.key != context },
                    hasGapBelow: segment.hasGapBelow
                )
            )
        }
        for segment in layers[context] where !known.contains(segment.id) {
            if isNew(segment) && segment.provenance == Provenance(context) {
                touched.append(segment.parts)
            } else {
                result.append(segment)
            }
        }
        return result.filter { !$0.parts.isEmpty }
    }

    /// The parent's layer without the context's saved changes; nil if the context has saved nothing.
    fileprivate func parentSegments(_ state: LayerRegistry.State, _ touched: inout [[Int: any AnyRowChanges]])
        -> [ChangeSegment]?
    {
        guard let parent else { return nil }
        let layers = state.layers
        guard layers[parent].contains(where: isSavedUpward) else { return nil }
        let before = Dictionary(parents.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let overruled = state.overruled[context] ?? [:]
        var result: [ChangeSegment] = []
        // The existing segments keep their order. It differs from that of `parents` if some were elsewhere when the
        // savepoint began.
        for segment in layers[parent] {
            if isSavedUpward(segment) {
                touched.append(segment.parts)
            } else if let old = before[segment.id] {
                result.append(segment.withDeletes(of: old, overruled: overruled[segment.id] ?? [:], &touched))
            } else {
                result.append(segment)
            }
        }
        // A segment that a save has emptied returns to its place above the same segments.
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

extension LayerRegistry.State {
    /// Records the rows that a commit has included from layers other than its own.
    mutating func recordIncludedRows(_ record: CommitRecord) {
        for result in record.results {
            for id in result.includedRows { includedRows[result.entity, default: [:]][id] = layers.nextSegment }
        }
    }

    /// A segment in its earlier state, without the rows that a commit has included since. Those rows are in the store.
    fileprivate func withoutIncludedRows(_ segment: ChangeSegment) -> ChangeSegment {
        guard !includedRows.isEmpty else { return segment }
        var result = segment
        for (entity, part) in segment.parts {
            guard let taken = includedRows[entity] else { continue }
            result.parts[entity] = part.filtered { id in taken[id].map { $0 <= segment.age.upperBound } ?? true
            }
        }
        return result
    }
}

extension ChangeSegment {
    /// This segment with its earlier deletes, if they were cancelled since.
    ///
    /// - Parameter overruled: the only rows that count, by entity; nil for all.
    fileprivate func withDeletes(
        of old: ChangeSegment,
        overruled: [Int: Set<Int64>]? = nil,
        _ touched: inout [[Int: any AnyRowChanges]]
    ) -> ChangeSegment {
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

extension RowChanges {
    func deletes(missingIn current: (any AnyRowChanges)?) -> (any AnyRowChanges)? {
        let current = current?.typed(Row.self)
        let missing = changes.filter { $0.kind == .delete && current?[$0.row._$id]?.kind != .delete }
        return missing.isEmpty ? nil : RowChanges(unsorted: missing)
    }

    func replacing(by newer: any AnyRowChanges) -> any AnyRowChanges { merged(with: newer.typed(Row.self)) { $1 } }

    /// Gives updates the kind that they had before a savepoint, `undelete` or `updateOfDeleted`.
    ///
    /// Their rows exist below only because of changes within the savepoint, which are now removed. If a row exists for
    /// another reason, the rebase that follows makes the change an update again.
    func restoreKinds(entity: Int, context: Int, from older: LayerSnapshot, in layers: inout LayerSnapshot) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in ids {
            let before = older.stack(id, entity: entity, in: context, Row.self)
                .filter { $0.change.kind == .undelete || $0.change.kind == .updateOfDeleted }
            if before.isEmpty { continue }
            for (_, change, position) in layers.stack(id, entity: entity, in: context, Row.self) {
                let segment = layers[context][position].id
                guard change.kind == .update,
                    let old = before.first(where: { older[context][$0.segment].id == segment })?.change,
                    old.columns == change.columns
                else { continue }
                edits[position, default: [:]][id] = Change(
                    kind: old.kind,
                    columns: old.columns,
                    row: old.row,
                    base: change.base?.over(.gone),
                    wasUndelete: old.wasUndelete
                )
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}
