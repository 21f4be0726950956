import Testing

@testable import Strata

/// A model with optionals of every kind, for random predicates.
final class Sample: Model {
    struct Row: TestRow {
        typealias Object = Sample
        var id: ObjectID<Sample>
        var values: [StoredValue]
    }
    struct Columns: Sendable {
        let id = Sample._$expression(id: ())
        let a = Sample._$expression("a", Int?.self)
        let b = Sample._$expression("b", Int?.self)
        let c = Sample._$expression("c", Int.self)
        let s = Sample._$expression("s", String?.self)
        let t = Sample._$expression("t", String.self)
        let parent = Sample._$expression("parent", Sample?.self)
        let children = Sample._$expression("children", Many<Sample>.self)
    }
    static let columns = Columns()
    static let _$schema = ModelSchema(
        name: "Sample",
        columns: [
            ._$column("a", Int?.self), ._$column("b", Int?.self), ._$column("c", Int.self),
            ._$column("s", String?.self),
            ._$column("t", String.self), ._$column("parent", Sample?.self),
        ],
        relationships: [._$relationship("children", Many<Sample>.self, inverse: "parent")]
    )
    var _$row: Row
    var _$link = ObjectLink()
    var _$state = ObjectState()
    init(_$row: Row) { self._$row = _$row }
}

/// The same objects in plain Swift.
private final class Plain {
    let number: Int64
    let a: Int?
    let b: Int?
    let c: Int
    let s: String?
    let t: String
    let parent: Plain?
    var children: [Plain] = []

    init(number: Int64, using random: inout SplitMix, parent: Plain?) {
        self.number = number
        a = random.below(3) == 0 ? nil : random.below(4)
        b = random.below(3) == 0 ? nil : random.below(4)
        c = random.below(4)
        s = random.below(3) == 0 ? nil : ["", "x", "xy", "Y"][random.below(4)]
        t = ["", "x", "xy", "Y"][random.below(4)]
        self.parent = parent
    }
}

struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

@Suite("Random predicates compared with plain Swift")
struct NullSemanticsTests {
    private typealias Term = (sql: Condition<Sample>, swift: (Plain) -> Bool)

    @Test(
        "Every predicate selects the same objects as its Swift counterpart",
        arguments: [1, 2, 3, 4, UInt64.random(in: 5...(.max))]
    )
    func compare(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let store = try TestStore(models: [Sample.self])
        var objects: [Plain] = []
        for number in 1...60 {
            let parent = random.below(3) == 0 ? nil : objects.isEmpty ? nil : objects[random.below(objects.count)]
            let object = Plain(number: Int64(number), using: &random, parent: parent)
            parent?.children.append(object)
            objects.append(object)
            try store.insert(
                Sample.self,
                [
                    "a": object.a, "b": object.b, "c": object.c, "s": object.s, "t": object.t,
                    "parent": object.parent.map { Int($0.number) },
                ],
                number: object.number
            )
        }
        for round in 0..<300 {
            let term = Self.term(&random, depth: 4)
            let query = Sample.where { _ in term.sql }
            let found = try store.numbers(query)
            let expected = objects.filter(term.swift).map(\.number)
            try #require(found == expected, "seed \(seed), round \(round): \(query)")
            try #require(try store.count(query) == expected.count, "seed \(seed), round \(round)")
        }
    }

    private static func term(_ random: inout SplitMix, depth: Int) -> Term {
        guard depth > 0, random.below(4) != 0 else { return leaf(&random) }
        let first = term(&random, depth: depth - 1)
        switch random.below(6) {
        case 0: return (!first.sql, { !first.swift($0) })
        case 1, 2:
            let second = term(&random, depth: depth - 1)
            return (first.sql && second.sql, { first.swift($0) && second.swift($0) })
        case 3, 4:
            let second = term(&random, depth: depth - 1)
            return (first.sql || second.sql, { first.swift($0) || second.swift($0) })
        default:
            switch random.below(3) {
            case 0:
                return (Sample.columns.children.any { _ in first.sql }, { $0.children.contains(where: first.swift) })
            case 1: return (Sample.columns.children.all { _ in first.sql }, { $0.children.allSatisfy(first.swift) })
            default:
                return (Sample.columns.children.none { _ in first.sql }, { !$0.children.contains(where: first.swift) })
            }
        }
    }

    private static func leaf(_ random: inout SplitMix) -> Term {
        let columns = Sample.columns
        let n = random.below(4)
        let m: Int? = random.below(3) == 0 ? nil : n
        let text = ["", "x", "xy", "Y"][random.below(4)]
        switch random.below(24) {
        case 0: return (columns.a == m, { $0.a == m })
        case 1: return (columns.a != m, { $0.a != m })
        case 2: return (columns.c == m, { $0.c == m })
        case 3: return (columns.c != n, { $0.c != n })
        case 4: return (columns.a < n, { $0.a.map { $0 < n } ?? false })
        case 5: return (columns.a >= n, { $0.a.map { $0 >= n } ?? false })
        case 6: return (columns.c <= n, { $0.c <= n })
        case 7: return (columns.a == columns.b, { $0.a == $0.b })
        case 8: return (columns.a != columns.b, { $0.a != $0.b })
        case 9: return (columns.a == columns.c, { $0.a == $0.c })
        case 10: return (columns.c != columns.a, { $0.c != $0.a })
        case 11: return (columns.a > columns.b, { if let a = $0.a, let b = $0.b { a > b } else { false } })
        case 12: return (columns.c < columns.b, { object in object.b.map { object.c < $0 } ?? false })
        case 13: return (columns.a.in([n, 1]), { $0.a == n || $0.a == 1 })
        case 14: return (columns.a.in([n, m]), { [n, m].contains($0.a) })
        case 15: return (columns.a.between(1...2), { $0.a.map { (1...2).contains($0) } ?? false })
        // Foundation's `contains` returns false for an empty text; the standard library's returns true.
        case 16: return (columns.s.contains(text), { $0.s.map { text.isEmpty || $0.contains(text) } ?? false })
        case 17: return (columns.s.hasPrefix(text), { $0.s?.hasPrefix(text) ?? false })
        case 18: return (columns.t.hasSuffix(text), { $0.t.hasSuffix(text) })
        case 19: return (columns.s.equals(text, .caseInsensitive), { $0.s?.lowercased() == text.lowercased() })
        case 20: return (columns.parent.a == m, { $0.parent?.a == m })
        case 21: return (columns.parent.c != n, { $0.parent?.c != n })
        case 22: return (columns.parent.parent.b <= n, { $0.parent?.parent?.b.map { $0 <= n } ?? false })
        default: return (columns.parent.children.count > n, { ($0.parent?.children.count ?? 0) > n })
        }
    }
}
