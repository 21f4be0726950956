/// Counts how often items occur together.
///
/// Groups above a size limit say little about any pair, and their cost grows with the square of the size. So they are
/// left out. If there are more than `pairLimit` pairs, pairs that occurred only once so far are removed. Memory stays
/// bounded, but rare pairs may be lost.
public struct Companions<Member: Hashable & Comparable & Sendable>: Sendable {
    public struct Pair: Hashable, Sendable {
        public let first: Member
        public let second: Member
    }

    private let groupLimit: Int
    private let pairLimit: Int
    private var counts: [Pair: Int] = [:]

    public init(groupLimit: Int = 30, pairLimit: Int = 1_000_000) {
        self.groupLimit = groupLimit
        self.pairLimit = pairLimit
    }

    /// - Complexity: the square of the number of members.
    public mutating func add(_ members: some Sequence<Member>) {
        let members = Set(members).sorted()
        guard members.count <= groupLimit else { return }
        for (position, first) in members.enumerated() {
            for second in members[(position + 1)...] {
                counts[Pair(first: first, second: second), default: 0] += 1
            }
        }
        if counts.count > pairLimit { counts = counts.filter { $0.value > 1 } }
    }

    /// The most frequent pairs. Each occurred at least twice.
    public func top(_ count: Int) -> [(pair: Pair, count: Int)] {
        let frequent = counts.filter { $0.value > 1 }.sorted {
            ($1.value, $0.key.first, $0.key.second) < ($0.value, $1.key.first, $1.key.second)
        }
        return frequent.prefix(count).map { (pair: $0.key, count: $0.value) }
    }
}
