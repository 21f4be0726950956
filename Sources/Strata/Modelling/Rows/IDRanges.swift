/// Ids in ascending order, stored as ranges of consecutive ids. Rows that are inserted together have consecutive
/// ids.
package struct IDRanges: Sendable, Hashable {
    package private(set) var ranges: [ClosedRange<Int64>] = []

    init() {}

    /// Creates ranges from ascending ids.
    ///
    /// - Precondition: the ids ascend strictly.
    /// - Complexity: O(1) if they form one range, otherwise O(ids).
    package init(ascending ids: [Int64]) {
        guard let first = ids.first, let last = ids.last else { return }
        if last - first == Int64(ids.count - 1) {
            ranges = [first...last]
        } else {
            for id in ids { append(id) }
        }
    }

    /// Creates ranges from ids in any order. It omits integers that are not ids, under which raw SQL may have inserted
    /// rows.
    ///
    /// - Complexity: O(n) if the ids ascend, otherwise O(n log n).
    package init(_ ids: some Sequence<Int64>) {
        var last: Int64 = 0
        for id in ids.sorted() where id > last && id < 1 << 48 {
            append(id)
            last = id
        }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// The count of the ids. Complexity: O(ranges).
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    /// Adds an id that is greater than all others.
    mutating func append(_ id: Int64) { append(id...id) }

    /// Adds a range that comes after all others.
    mutating func append(_ range: ClosedRange<Int64>) {
        if let last = ranges.last, last.upperBound == range.lowerBound - 1 {
            ranges[ranges.count - 1] = last.lowerBound...range.upperBound
        } else {
            ranges.append(range)
        }
    }

    /// Whether an id is in one of the ranges. Complexity: O(log ranges).
    package func contains(_ id: Int64) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < id { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(id)
    }

    /// The ids that are not in another set. Complexity: O(ranges of both).
    package func subtracting(_ other: IDRanges) -> IDRanges {
        if other.isEmpty { return self }
        var result = IDRanges()
        var rest = other.ranges[...]
        for range in ranges {
            rest = rest.drop { $0.upperBound < range.lowerBound }
            var next = range.lowerBound
            for taken in rest {
                if taken.lowerBound > range.upperBound { break }
                if taken.lowerBound > next { result.append(next...(taken.lowerBound - 1)) }
                next = Swift.max(next, taken.upperBound + 1)
            }
            if next <= range.upperBound { result.append(next...range.upperBound) }
        }
        return result
    }

    /// The ids of both sets. Complexity: O(ranges).
    package func union(_ other: IDRanges) -> IDRanges {
        if isEmpty { return other }
        if other.isEmpty { return self }
        return IDRanges(merging: ranges + other.ranges)
    }

    /// The ids of all sets. Complexity: O(ranges × log ranges).
    package static func union(of all: [IDRanges]) -> IDRanges { IDRanges(merging: all.flatMap(\.ranges)) }

    /// Creates ranges from ranges in any order, which may overlap.
    private init(merging all: [ClosedRange<Int64>]) {
        for range in all.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, range.lowerBound <= last.upperBound + 1 {
                let upper = Swift.max(last.upperBound, range.upperBound)
                ranges[ranges.count - 1] = last.lowerBound...upper
            } else {
                ranges.append(range)
            }
        }
    }

    /// Some of the ids, in their order.
    ///
    /// - Parameters:
    ///   - offset: the number of ids before the first one.
    ///   - limit: the greatest number of ids.
    /// - Complexity: O(ranges + limit).
    package func ids(from offset: Int, limit: Int) -> [Int64] {
        var (ids, skipped): ([Int64], Int) = ([], offset)
        for range in ranges {
            if ids.count >= limit { break }
            if skipped >= range.count {
                skipped -= range.count
                continue
            }
            let first = range.lowerBound + Int64(skipped)
            let last = Swift.min(range.upperBound, first + Int64(limit - ids.count) - 1)
            ids += Array(first...last)
            skipped = 0
        }
        return ids
    }
}

extension IDRanges: Sequence {
    package func makeIterator() -> FlattenSequence<[ClosedRange<Int64>]>.Iterator { ranges.joined().makeIterator() }
}
