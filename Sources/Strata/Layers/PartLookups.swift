import Synchronization

/// What has been made to look things up in a part. A part never changes, so neither does this.
struct PartLookups: ~Copyable, Sendable {
    private let indexes = Mutex<[[Int]: ValueIndex]>([:])
    private let set = Mutex<NumberSet?>(nil)

    func numberSet(of numbers: [Int64]) -> NumberSet {
        set.withLock { set in
            if let set { return set }
            let made = NumberSet(numbers)
            set = made
            return made
        }
    }

    /// The places of the rows whose columns may hold these values, in ascending order.
    func places(ofRowsLike values: [StoredValue], in columns: [Int], of part: some AnyPart) throws -> [Int] {
        try indexes.withLock { indexes in
            if let index = indexes[columns] { return index[values] }
            let index = try ValueIndex(columns, of: part)
            indexes[columns] = index
            return index[values]
        }
    }
}

/// Where the values of some columns are in a part, by their hashes.
struct ValueIndex: Sendable {
    /// The first place of each hash.
    private var heads: [Int: Int32] = [:]
    /// For each place the next one with the same hash, or -1.
    private var next: [Int32]

    /// Complexity: O(rows).
    init(_ columns: [Int], of part: some AnyPart) throws {
        let count = part.numbers.count
        next = Array(repeating: -1, count: count)
        heads.reserveCapacity(count)
        for place in (0..<count).reversed() {
            var hasher = Hasher()
            for column in columns { hasher.combine(try part.value(at: place, column: column)) }
            if let following = heads.updateValue(Int32(place), forKey: hasher.finalize()) { next[place] = following }
        }
    }

    /// Complexity: O(found).
    subscript(values: [StoredValue]) -> [Int] {
        var hasher = Hasher()
        for value in values { hasher.combine(value) }
        var result: [Int] = []
        var place = heads[hasher.finalize()] ?? -1
        while place >= 0 {
            result.append(Int(place))
            place = next[Int(place)]
        }
        return result
    }
}
