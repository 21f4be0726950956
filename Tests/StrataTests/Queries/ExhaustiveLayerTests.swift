import Testing

@testable import Strata

/// Exhaustive tests of layers over few rows.
@Suite struct ExhaustiveLayerTests {
    private static let kinds: [ChangeKind?] = [nil, .insert, .update, .delete, .cancelledInsert, .updateOfDeleted]

    private func row(_ number: Int64, _ place: Double? = nil, _ other: Double? = nil) -> JoinRow {
        JoinRow(number: number, left: 1, right: 2, leftPlace: place, rightPlace: other)
    }

    /// The row that results from a change of the row beneath it.
    private func applied(_ change: Change<JoinRow>, to below: JoinRow?) -> JoinRow? {
        switch change.kind {
        case .insert: return change.row
        case .update, .undelete:
            guard var row = below else { return change.kind == .undelete ? change.row : nil }
            row._$copy(change.columns, from: change.row)
            return row
        case .delete, .cancelledInsert, .updateOfDeleted: return nil
        }
    }

    private func update(_ below: JoinRow, _ columns: [Int], _ value: Double) -> Change<JoinRow> {
        var row = below
        for column in columns { row.setPlace(value, column - 2) }
        let set = columns.reduce(into: ColumnSet()) { $0.insert($1) }
        return Change(
            kind: .update,
            columns: set,
            row: row,
            base: Base(original: below, storeOriginal: below, sequence: 1)
        )
    }

    @Test("Two successive changes combine into one with the same effect, for all kinds and columns")
    func followed() {
        let places = [[2], [3], [2, 3]]
        let below = row(1, 10, 20)
        for older in [nil] + places {
            let first = older.map { update(below, $0, 1) } ?? .insert(below)
            let middle = applied(first, to: below)!
            for newer in [nil] + places {
                let second =
                    newer.map { update(middle, $0, 2) }
                    ?? Change(
                        kind: .delete,
                        columns: ColumnSet(),
                        row: middle,
                        base: Base(original: middle, storeOriginal: nil, sequence: 1)
                    )
                let both = first.followed(by: second)
                #expect(applied(both, to: below) == applied(second, to: middle))
                if both.kind == .update {
                    #expect(both.row == applied(second, to: middle))
                    #expect(both.base?.original == below)
                }
            }
        }
    }

    @Test("A newer change that did not see the older one keeps its columns")
    func unseen() {
        let below = row(1, 10, 20)
        let both = update(below, [2], 1).followed(by: update(below, [3], 2))
        #expect(both.row == row(1, 1, 2))
    }

    @Test("A change that moves over another row shows that row with the change's own columns")
    func rebased() throws {
        let values: [Double?] = [nil, 1, 10]
        for columns in [[2], [3], [2, 3]] {
            let change = update(row(1, 10, 20), columns, 5)
            for left in values {
                for right in values {
                    let below = row(1, left, right)
                    let moved = change.rebased(onto: below) ?? change
                    #expect(moved.row == applied(change, to: below))
                    #expect(moved.columns == change.columns)
                    let updateOfDeleted = try #require(moved.rebased(onto: nil))
                    #expect(updateOfDeleted.kind == .updateOfDeleted)
                    let back = try #require(updateOfDeleted.rebased(onto: below))
                    #expect(back.kind == .update && back.row == moved.row)
                }
            }
        }
    }

    @Test("Two parts merge to the rows of both, in order, and the newer one wins")
    func merged() {
        for left in 0..<32 {
            for right in 0..<32 {
                func part(_ bits: Int, _ value: Double) -> RowChanges<JoinRow> {
                    RowChanges(
                        unsorted: (0..<5).reversed().filter { bits & (1 << $0) != 0 }.map {
                            .insert(row(Int64($0), value))
                        }
                    )
                }
                let (older, newer) = (part(left, 1), part(right, 2))
                let both = older.followed(by: newer).typed(JoinRow.self)
                #expect(both.ids == (0..<5).filter { (left | right) & (1 << $0) != 0 })
                for number in both.ids {
                    #expect(both[number]?.row.leftPlace == (newer.index(of: number) == nil ? 1 : 2))
                }
                #expect((0..<6).allSatisfy { (both.index(of: $0) != nil) == both.ids.contains($0) })
            }
        }
    }

    @Test("The cursor over pending rows shows the newest version of each row, for all layers of three rows")
    func cursor() throws {
        let kinds = Self.kinds
        // One digit for each row of each of two parts.
        for code in 0..<46_656 {
            var rest = code
            var parts: [RowChanges<JoinRow>] = []
            for part in 0..<2 {
                var changes: [Change<JoinRow>] = []
                for number in 1...3 {
                    defer { rest /= kinds.count }
                    guard let kind = kinds[rest % kinds.count] else { continue }
                    changes.append(
                        Change(kind: kind, columns: ColumnSet(), row: row(Int64(number), Double(part)), base: nil)
                    )
                }
                if !changes.isEmpty { parts.append(RowChanges(unsorted: changes)) }
            }
            var expected: [Int64: Double] = [:]
            for number in Int64(1)...3 {
                guard let top = parts.last(where: { $0[number] != nil })?[number], top.kind.isVisible else { continue }
                expected[number] = top.row.leftPlace
            }
            let cursor = PendingCursor(PendingRows(parts))
            var found: [Int64] = []
            cursor.start()
            while !cursor.isAtEnd {
                found.append(cursor.place.number)
                guard case .real(let place) = try cursor.value(3), place == expected[cursor.place.number] else {
                    Issue.record("code \(code), row \(cursor.place.number)")
                    return
                }
                cursor.advance()
            }
            guard found == expected.keys.sorted() else {
                Issue.record("code \(code): \(found), not \(expected)")
                return
            }
            for number in Int64(0)...4 {
                cursor.start(at: number)
                guard cursor.isAtEnd == (expected[number] == nil) else {
                    Issue.record("code \(code): look-up of \(number)")
                    return
                }
            }
        }
    }

    @Test("A set of columns behaves like a set")
    func columnSet() {
        let columns = [0, 1, 62, 63, 64, 65, 127]
        for left in 0..<(1 << columns.count) {
            for right in 0..<(1 << columns.count) {
                func make(_ bits: Int) -> (ColumnSet, Set<Int>) {
                    let chosen = columns.indices.filter { bits & (1 << $0) != 0 }.map { columns[$0] }
                    return (chosen.reduce(into: ColumnSet()) { $0.insert($1) }, Set(chosen))
                }
                let ((one, first), (two, second)) = (make(left), make(right))
                let isSame =
                    Array(one.union(two)) == first.union(second).sorted()
                    && Array(one.intersection(two)) == first.intersection(second).sorted()
                    && Array(one.subtracting(two)) == first.subtracting(second).sorted()
                    && one.count == first.count && one.isEmpty == first.isEmpty
                guard isSame else {
                    Issue.record("\(first.sorted()) and \(second.sorted())")
                    return
                }
            }
        }
    }

    @Test("The identity map finds inserted objects, and a sweep keeps those that are still referenced")
    func identityMap() {
        final class Thing {}
        for count in 0..<70 {
            for stride in [1, 2, 16, 1 << 20, (1 << 40) + 1] as [Int64] {
                var map = IdentityMap()
                var held: [Int64: Thing] = [:]
                for index in 0..<count {
                    let (number, thing) = (Int64(index) * stride + 1, Thing())
                    map.insert(thing, number)
                    if index % 3 != 0 { held[number] = thing }
                }
                #expect(map.count == count)
                #expect((0..<count).allSatisfy { map[Int64($0) * stride + 1, Thing.self] != nil })
                #expect(map[Int64(count) * stride + 1, Thing.self] == nil)
                _ = map.sweep()
                #expect(map.count == held.count)
                for index in 0..<count {
                    let number = Int64(index) * stride + 1
                    #expect(map[number, Thing.self] === held[number])
                }
            }
        }
    }
}

extension JoinRow: Equatable {
    public static func == (left: JoinRow, right: JoinRow) -> Bool {
        left._$id == right._$id && left._$differences(from: right).isEmpty
    }
}
