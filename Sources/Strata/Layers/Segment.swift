/// One publication of a layer: an immutable set of changes, handed on by reference.
///
/// A context's layer is a list of segments, oldest first. Segments of one carrier that lie beside each other are merged
/// as they grow, so that a layer of n changes consists of O(log n) segments.
struct Segment: Sendable {
    /// Stays the same when changes are taken out of a segment or rebased.
    let id: Int
    /// The contexts whose commits take these changes along (H20).
    let carriers: Carriers
    /// By the index of the entity.
    var parts: [Int: any AnyPart]
    /// When its changes were published, the first and the last, in the count of segments: whatever it was merged into and wherever it
    /// was moved to and back since.
    let age: ClosedRange<Int>
    /// When the contexts that have saved it upward did so, in the same count.
    let moves: [Int: ClosedRange<Int>]
    /// Whether changes between this segment and the one beneath were rolled back. It may have been made on top of those, and
    /// is not merged with what lies beneath now, since somebody has to be asked.
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
    /// Ascending.
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

    /// Counts each of these segments once less, and forgets those that nobody counts any more.
    mutating func uncount(_ segments: some Sequence<Int>) {
        for segment in segments {
            self[segment, default: 0] -= 1
            if self[segment] == 0 { self[segment] = nil }
        }
    }
}
