/// The difference between two lists of objects: removed, inserted, moved and changed objects.
///
/// Isolation: a value, usable anywhere.
public struct LiveDifference: Sendable, Hashable {
    /// An object that is in both lists, by its position in each.
    public struct IndexPair: Sendable, Hashable {
        /// The position in the old list.
        public let from: Int
        /// The position in the new list.
        public let to: Int
    }

    /// The positions, in the old list, of objects that are no longer in the list, in ascending order.
    public let removed: [Int]
    /// The positions, in the new list, of objects that were not in the old list, in ascending order.
    public let inserted: [Int]
    /// The smallest set of objects whose moves produce the new order, by `to` in ascending order. Objects whose
    /// position only shifts because others were inserted or removed are not included.
    public let moved: [IndexPair]
    /// The objects with a changed value, by `to` in ascending order.
    public let changed: [IndexPair]

    /// Whether both lists are the same.
    public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty }
}

extension LiveDifference {
    /// Compares two lists of rows. Only the objects between the common beginning and the common end of the lists are
    /// looked up by their ids, so a list in which little has changed is compared fast.
    ///
    /// - Parameter changed: the rows that may have other values; nil for all of them.
    /// - Complexity: O(n log n).
    init<Row: StoredRow>(from old: [Row], to new: [Row], changed: IDRanges? = nil) {
        // Elements of a buffer are compared in place. An array would copy each row, because the code is generic.
        self = old.withUnsafeBufferPointer { old in new.withUnsafeBufferPointer { Self(from: old, to: $0, changed) } }
    }

    private init<Row: StoredRow>(
        from old: UnsafeBufferPointer<Row>,
        to new: UnsafeBufferPointer<Row>,
        _ candidates: IDRanges?
    ) {
        let shorter = min(old.count, new.count)
        var (inserted, kept, changed): ([Int], [IndexPair], [IndexPair]) = ([], [], [])
        func compare(_ from: Int, _ to: Int) {
            if let candidates, !candidates.contains(new[to]._$id) { return }
            if !new[to]._$differences(from: old[from]).isEmpty { changed.append(IndexPair(from: from, to: to)) }
        }
        var start = 0
        while start < shorter, old[start]._$id == new[start]._$id {
            compare(start, start)
            start += 1
        }
        var (oldEnd, newEnd) = (old.count, new.count)
        while oldEnd > start, newEnd > start, old[oldEnd - 1]._$id == new[newEnd - 1]._$id {
            (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1)
        }
        var places: [Int64: Int] = Dictionary(minimumCapacity: oldEnd - start)
        for place in start..<oldEnd { places[old[place]._$id] = place }
        for to in start..<newEnd {
            guard let from = places.removeValue(forKey: new[to]._$id) else {
                inserted.append(to)
                continue
            }
            kept.append(IndexPair(from: from, to: to))
            compare(from, to)
        }
        for to in newEnd..<new.count { compare(to - newEnd + oldEnd, to) }
        self.init(removed: places.values.sorted(), inserted: inserted, moved: Self.moved(kept), changed: changed)
    }

    /// The pairs that are not part of the longest sequence with the same order before and after. Patience sorting finds
    /// this sequence. See M. L. Fredman, "On computing the length of longest increasing subsequences", Discrete
    /// Mathematics 11 (1975).
    private static func moved(_ pairs: [IndexPair]) -> [IndexPair] {
        var isInOrder = true
        for (left, right) in zip(pairs, pairs.dropFirst()) where left.from > right.from { isInOrder = false }
        if isInOrder { return [] }
        /// The last pair of the best sequence of each length, and for each pair the one before it in its sequence.
        var (ends, previous): ([Int], [Int]) = ([], Array(repeating: -1, count: pairs.count))
        for (index, pair) in pairs.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if pairs[ends[middle]].from < pair.from { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[index] = ends[low - 1] }
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var stays = Array(repeating: false, count: pairs.count)
        var index = ends.last ?? -1
        while index >= 0 {
            stays[index] = true
            index = previous[index]
        }
        return pairs.indices.filter { !stays[$0] }.map { pairs[$0] }
    }
}
