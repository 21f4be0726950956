/// What has become of a list of objects: which are gone, which have come, which have moved, which have changed.
///
/// Isolation: a value, usable anywhere.
public struct LiveDifference: Sendable, Hashable {
    /// An object that is in both lists, by its place in each.
    public struct Pair: Sendable, Hashable {
        /// Its place in the list before.
        public let from: Int
        /// Its place in the list now.
        public let to: Int
    }

    /// The places, in the list before, of objects that are not there any more, in ascending order.
    public let removed: [Int]
    /// The places, in the list now, of objects that were not there before, in ascending order.
    public let inserted: [Int]
    /// The objects that have to be moved so that all stand in their order; as few of them as possible, by `to` in ascending order.
    /// Objects that only stand elsewhere because others have come or gone are not among them.
    public let moved: [Pair]
    /// The objects of which a value has changed, by `to` in ascending order.
    public let changed: [Pair]

    /// Whether both lists are the same.
    public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty }
}

extension LiveDifference {
    /// Complexity: O(n log n).
    init<Row: StoredRow>(from old: [Row], to new: [Row]) {
        if old.isEmpty {
            self.init(removed: [], inserted: Array(new.indices), moved: [], changed: [])
            return
        }
        var places: [Int64: Int] = Dictionary(minimumCapacity: old.count)
        for (place, row) in old.enumerated() { places[row._$number] = place }
        var (inserted, kept, changed): ([Int], [Pair], [Pair]) = ([], [], [])
        for (to, row) in new.enumerated() {
            guard let from = places.removeValue(forKey: row._$number) else {
                inserted.append(to)
                continue
            }
            kept.append(Pair(from: from, to: to))
            if !row._$differences(from: old[from]).isEmpty { changed.append(Pair(from: from, to: to)) }
        }
        self.init(removed: places.values.sorted(), inserted: inserted, moved: Self.moved(kept), changed: changed)
    }

    /// Those of the pairs that are not part of the longest run which stands in one order before and after, found by patience
    /// sorting. See M. L. Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics 11 (1975).
    private static func moved(_ pairs: [Pair]) -> [Pair] {
        var isInOrder = true
        for (left, right) in zip(pairs, pairs.dropFirst()) where left.from > right.from { isInOrder = false }
        if isInOrder { return [] }
        /// The last pair of the best run of each length, and for each pair the one before it in its run.
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
