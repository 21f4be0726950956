import Foundation
import Synchronization

/// Cached look-up structures of a part. A part never changes, so they stay valid.
struct RowChangesLookups: ~Copyable, Sendable {
    private let indexes = Mutex<[[Int]: ValueIndex]>([:])
    private let set = Mutex<IDSet?>(nil)

    func idSet(of ids: [Int64]) -> IDSet {
        set.withLock { set in
            if let set { return set }
            let made = IDSet(ids)
            set = made
            return made
        }
    }

    /// The positions of the rows whose columns may hold these values, in ascending order.
    func places(ofRowsLike values: [StoredValue], in columns: [Int], of part: some AnyRowChanges) -> [Int] {
        if let index = indexes.withLock({ $0[columns] }) { return index[values] }
        // Not under the lock, since encoding values may run users' code. If two threads build the index at once, both
        // results are equal.
        let index = ValueIndex(columns, of: part)
        indexes.withLock { $0[columns] = index }
        return index[values]
    }
}

/// An index of a part: the positions of the values of some columns, by hash.
struct ValueIndex: Sendable {
    /// The first position of each hash.
    private var heads: [Int: Int32] = [:]
    /// For each position, the next one with the same hash, or -1.
    private var next: [Int32]

    /// Builds the index. It omits rows with values that cannot be stored; no look-up finds them.
    ///
    /// Complexity: O(rows).
    init(_ columns: [Int], of part: some AnyRowChanges) {
        let count = part.ids.count
        next = Array(repeating: -1, count: count)
        heads.reserveCapacity(count)
        for place in (0..<count).reversed() {
            guard let values = try? columns.map({ try part.value(at: place, column: $0) }) else { continue }
            if let following = heads.updateValue(Int32(place), forKey: Self.hash(values)) { next[place] = following }
        }
    }

    /// The positions of rows that may have these values. Complexity: O(found).
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
                // `Data` hashes only its first bytes.
                data.withUnsafeBytes { hasher.combine(bytes: $0) }
            } else {
                hasher.combine(value)
            }
        }
        return hasher.finalize()
    }
}
