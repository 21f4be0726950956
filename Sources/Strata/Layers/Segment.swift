/// One publication of a layer: an immutable set of changes, passed on by reference.
///
/// A context's layer is a list of segments, oldest first. Adjacent segments with the same carriers are merged as they
/// grow, so that a layer of n changes consists of O(log n) segments.
struct Segment: Sendable {
    /// The id of the segment. It stays the same when changes are removed or rebased.
    let id: Int
    /// The contexts whose commits include these changes.
    let carriers: Carriers
    /// The changes, by the index of the entity.
    var parts: [Int: any AnyPart]
    /// The first and the last publication of its changes, in the count of segments. Merges and moves to other layers
    /// and back do not change it.
    let age: ClosedRange<Int>
    /// The times at which contexts have saved it upward, in the same count.
    let moves: [Int: ClosedRange<Int>]
    /// Whether changes between this segment and the one below were rolled back.
    ///
    /// The segment may be based on those changes. It is not merged with the segment below now, since a merge policy
    /// must decide.
    var isParted = false

    init(
        id: Int,
        carriers: Carriers,
        parts: [Int: any AnyPart],
        age: ClosedRange<Int>,
        moves: [Int: ClosedRange<Int>],
        isParted: Bool = false
    ) {
        self.id = id
        self.carriers = carriers
        self.parts = parts
        self.age = age
        self.moves = moves
        self.isParted = isParted
    }

    var count: Int { parts.values.reduce(0) { $0 + $1.numbers.count } }
}

/// The contexts that a change belongs to: the one that made it, and those that saved it upward.
struct Carriers: Sendable, Hashable {
    /// The contexts, in ascending order.
    let contexts: [Int]

    init(_ contexts: some Sequence<Int>) { self.contexts = Set(contexts).sorted() }
    init(_ context: Int) { contexts = [context] }

    func contains(_ context: Int) -> Bool { contexts.contains(context) }
    func adding(_ context: Int) -> Carriers { contains(context) ? self : Carriers(contexts + [context]) }
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
