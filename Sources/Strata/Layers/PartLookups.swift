import Foundation
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
    func places(ofRowsLike values: [StoredValue], in columns: [Int], of part: some AnyPart) -> [Int] {
        if let index = indexes.withLock({ $0[columns] }) { return index[values] }
        // Not under the lock, since encoding values may be users' code. Should two make it at once, they make the same.
        let index = ValueIndex(columns, of: part)
        indexes.withLock { $0[columns] = index }
        return index[values]
    }
}

/// Where the values of some columns are in a part, by their hashes.
struct ValueIndex: Sendable {
    /// The first place of each hash.
    private var heads: [Int: Int32] = [:]
    /// For each place the next one with the same hash, or -1.
    private var next: [Int32]

    /// Rows with values that have no form in the store are left out: they are found by nothing.
    ///
    /// Complexity: O(rows).
    init(_ columns: [Int], of part: some AnyPart) {
        let count = part.numbers.count
        next = Array(repeating: -1, count: count)
        heads.reserveCapacity(count)
        for place in (0..<count).reversed() {
            guard let values = try? columns.map({ try part.value(at: place, column: $0) }) else { continue }
            if let following = heads.updateValue(Int32(place), forKey: Self.hash(values)) { next[place] = following }
        }
    }

    /// Complexity: O(found).
    subscript(values: [StoredValue]) -> [Int] {
        var result: [Int] = []
        var place = heads[Self.hash(values)] ?? -1
        while place >= 0 {
            result.append(Int(place))
            place = next[Int(place)]
        }
        return result
    }

    private static func hash(_ values: [StoredValue]) -> Int {
        var hasher = Hasher()
        for value in values {
            if case .blob(let data) = value {
                // Data itself hashes its first bytes only.
                data.withUnsafeBytes { hasher.combine(bytes: $0) }
            } else {
                hasher.combine(value)
            }
        }
        return hasher.finalize()
    }
}
