/// Counts which things occur together.
///
/// Groups beyond a size say little about any pair and cost its square, so they are left out. Where there would be more
/// than `pairLimit` pairs, those that occurred once so far are forgotten: memory stays bounded, rare pairs may be lost.
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

    /// The pairs that occurred most often, at least twice.
    public func top(_ count: Int) -> [(pair: Pair, count: Int)] {
        let frequent = counts.filter { $0.value > 1 }.sorted {
            ($1.value, $0.key.first, $0.key.second) < ($0.value, $1.key.first, $1.key.second)
        }
        return frequent.prefix(count).map { (pair: $0.key, count: $0.value) }
    }
}
