/// One publication of a layer: an immutable set of changes, passed on by reference.
///
/// A context's layer is a list of segments, oldest first. Adjacent segments with the same provenance are merged as they
/// grow, so that a layer of n changes consists of O(log n) segments.
struct ChangeSegment: Sendable {
    /// The id of the segment. It stays the same when changes are removed or rebased.
    let id: Int
    /// The contexts whose commits include these changes.
    let provenance: Provenance
    /// The changes, by the index of the entity.
    var parts: [Int: any AnyRowChanges]
    /// Whether changes between this segment and the one below were rolled back.
    ///
    /// The segment may be based on those changes. It is not merged with the segment below now, since a merge policy
    /// must decide.
    var hasGapBelow = false

    var count: Int { parts.values.reduce(0) { $0 + $1.ids.count } }
}

/// The contexts that a change belongs to: the one that made it, and those that saved it upward.
struct Provenance: Sendable, Hashable {
    /// The contexts, in ascending order.
    let contexts: [Int]

    init(_ contexts: some Sequence<Int>) { self.contexts = Set(contexts).sorted() }
    init(_ context: Int) { contexts = [context] }

    func contains(_ context: Int) -> Bool { contexts.contains(context) }
    func adding(_ context: Int) -> Provenance { contains(context) ? self : Provenance(contexts + [context]) }
}

extension [Int: Int] {
    /// Counts each of these segments once more.
    mutating func count(_ segments: some Sequence<Int>) {
        for segment in segments { self[segment, default: 0] += 1 }
    }

    /// Counts each of these segments once less, and removes segments whose count is zero.
    mutating func uncount(_ segments: some Sequence<Int>) {
        for segment in segments {
            self[segment, default: 0] -= 1
            if self[segment] == 0 { self[segment] = nil }
        }
    }
}
