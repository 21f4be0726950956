/// Deletes that an undo has removed from a layer in a savepoint. If the savepoint fails, they return.
struct CancelledDeletes: Sendable {
    /// The segment that had the deletes, with these changes only.
    let segment: ChangeSegment
    /// The ids of the segments that were below it in the layer.
    let below: Set<Int>
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
    /// Puts deletes back into their segment. If they were all of it, the segment returns to its place.
    mutating func putBack(_ deletes: CancelledDeletes) {
        if let index = firstIndex(where: { $0.id == deletes.segment.id }) {
            self[index].parts.merge(deletes.segment.parts) { $0.replacing(by: $1) }
        } else {
            let place = lastIndex { deletes.below.contains($0.id) }.map { $0 + 1 } ?? 0
            insert(deletes.segment, at: place)
        }
    }
}
