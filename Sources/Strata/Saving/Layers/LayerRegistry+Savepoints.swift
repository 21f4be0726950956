/// Deletes that an undo has removed from a layer in a savepoint. If the savepoint fails, they return.
struct CancelledDeletes: Sendable {
    /// The segment that had the deletes, with these changes only.
    var segment: ChangeSegment
    /// The ids of the segments that were below it in the layer.
    let below: Set<Int>
    /// The id of a new segment for the deletes, in case a commit is writing or reading their own one.
    let spare: Int
    /// Whether the context itself has made the deletes. Other deletes were saved by a child.
    let isOwn: Bool
}

extension LayerRegistry {
    /// Begins a savepoint of a context: later segments of its layer are not merged with the existing ones. Returns the
    /// ids of the existing segments.
    func beginSavepoint(in context: Int) -> Set<Int> {
        state.withLock { state in
            state.layers.addFloor(to: context)
            return Set(state.layers[context].map(\.id))
        }
    }

    /// Ends the innermost savepoint of a context: the remaining segments are merged as usual.
    func endSavepoint(in context: Int) {
        state.withLock { state in
            let fixed = state.fixed
            state.layers.removeFloor(of: context, frozen: fixed)
        }
    }
}

extension [ChangeSegment] {
    /// Puts deletes back into their segment. If the segment is gone, it returns to its place with the deletes only: they
    /// were all of it, or a commit has written the rest.
    ///
    /// - Parameter fixed: segments that a commit is writing or has read. Deletes of them return in a new segment above.
    ///   The commit would remove deletes that were added to its own segment, and would not write them.
    mutating func putBack(_ deletes: CancelledDeletes, fixed: Set<Int>) {
        let index = firstIndex { $0.id == deletes.segment.id }
        let place = index.map { $0 + 1 } ?? lastIndex { deletes.below.contains($0.id) }.map { $0 + 1 } ?? 0
        let isFixed = fixed.contains(deletes.segment.id)
        if let index, !isFixed {
            self[index].parts.merge(deletes.segment.parts) { $0.replacing(by: $1) }
            return
        }
        let segment = ChangeSegment(
            id: isFixed ? deletes.spare : deletes.segment.id,
            provenance: deletes.segment.provenance,
            parts: deletes.segment.parts.mapValues { $0.withoutEditsBeforeDeletes() },
            hasGapBelow: index == nil && deletes.segment.hasGapBelow
        )
        insert(segment, at: place)
    }
}

extension RowChanges {
    /// These deletes, for a segment above the one that has the edits before them.
    func withoutEditsBeforeDeletes() -> any AnyRowChanges {
        let deletes = changes.map { change -> Change<Row> in
            guard let base = change.base, !change.columns.isEmpty else { return change }
            return Change(
                kind: .delete,
                columns: ColumnSet(),
                row: change.row,
                base: Base(original: change.lastSeen, storeOriginal: base.storeOriginal, sequence: base.sequence)
            )
        }
        return RowChanges(ids: ids, changes: deletes)
    }

    /// Updates the bases of a layer's changes of these rows, which were not in the layer while others have committed.
    func updateStoreOriginals(
        reading connection: Connection,
        entity: Int,
        context: Int,
        _ schema: Schema,
        in layers: inout LayerSnapshot
    ) {
        let typed = schema.entities[entity].typed(Row.self)
        // After an error, the bases stay as they were. The commit may then report a conflict.
        let stored = ids.compactMap { number in try? typed.read(number, on: connection) }
        guard !stored.isEmpty else { return }
        RowChanges(unsorted: stored.map { .insert($0) })
            .updateStoreOriginals(ids, entity: entity, context: context, in: &layers)
    }
}
