/// The rows that layers have changed, of one entity: what SQLite is shown in the place of the stored ones.
///
/// Made once for each state of the layers and then read by many queries. Isolation: that of its connection.
final class PendingRows {
    /// A row by the place of its newest change.
    struct Place {
        let number: Int64
        let part: Int32
        let index: Int32
    }

    /// Oldest first.
    let parts: [any AnyPart]
    /// The rows that are there, in the order of their ids.
    let visible: [Place]
    /// The ids of these.
    private let numbers: [Int64]
    private let changed: NumberSet
    /// By column and value, the places of the rows among the visible ones. Made when first asked for.
    private var indexes: [Int: [Int64: [Int]]] = [:]

    /// Complexity: O(rows · parts).
    init(_ parts: [any AnyPart]) {
        self.parts = parts
        let numbers = parts.map { $0.numbers }
        var positions = Array(repeating: 0, count: parts.count)
        var visible: [Place] = []
        var changed: [Int64] = []
        while true {
            var least = Int64.max
            for part in numbers.indices where positions[part] < numbers[part].count {
                least = min(least, numbers[part][positions[part]])
            }
            guard least != .max else { break }
            var newest = Place(number: least, part: 0, index: 0)
            for part in numbers.indices where positions[part] < numbers[part].count {
                guard numbers[part][positions[part]] == least else { continue }
                newest = Place(number: least, part: Int32(part), index: Int32(positions[part]))
                positions[part] += 1
            }
            changed.append(least)
            if parts[Int(newest.part)].kind(at: Int(newest.index)).isVisible { visible.append(newest) }
        }
        self.visible = visible
        self.numbers = visible.map { $0.number }
        self.changed = NumberSet(changed)
    }

    /// Whether the stored row with this id is not what is to be seen.
    func isHidden(_ number: Int64) -> Bool { changed.contains(number) }

    /// The place of a row among the visible ones. Complexity: O(log rows).
    func position(of number: Int64) -> Int? { numbers.sortedIndex(of: number) }

    /// The places of the rows whose column holds this integer, in the order of their ids.
    ///
    /// Complexity: O(rows) for the first look-up in a column, then O(1).
    func positions(ofRowsWith value: Int64, in column: Int) throws -> [Int] {
        if let index = indexes[column] { return index[value] ?? [] }
        var index: [Int64: [Int]] = [:]
        for (position, place) in visible.enumerated() {
            if case .integer(let value) = try self.value(of: place, column) {
                index[value, default: []].append(position)
            }
        }
        indexes[column] = index
        return index[value] ?? []
    }

    /// The value of one of the entity's columns.
    func value(of place: Place, _ column: Int) throws -> StoredValue {
        try parts[Int(place.part)].value(at: Int(place.index), column: column)
    }
}

/// A set of ids that is made once. Open addressing with linear probing, as in ``IdentityMap``.
struct NumberSet {
    /// 0 where a slot is free; no row has that id.
    private let slots: [Int64]
    private let shift: UInt64

    init(_ numbers: [Int64]) {
        var size = 2
        while size < numbers.count * 2 { size *= 2 }
        shift = UInt64(64 - size.trailingZeroBitCount)
        var slots = [Int64](repeating: 0, count: size)
        for number in numbers {
            var slot = number.hashSlot(shift)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = number
        }
        self.slots = slots
    }

    /// Complexity: O(1).
    func contains(_ number: Int64) -> Bool {
        guard number != 0 else { return false }
        return slots.withUnsafeBufferPointer { slots in
            var slot = number.hashSlot(shift)
            while slots[slot] != 0 {
                if slots[slot] == number { return true }
                slot = (slot + 1) & (slots.count - 1)
            }
            return false
        }
    }
}

/// Walks pending rows: all in the order of their ids, one, or those with a certain value.
final class PendingCursor {
    private let rows: PendingRows
    /// The rows to walk; nil for all.
    private var chosen: [Int]?
    private var count = 0
    private var position = 0
    /// The row that the cursor stands on, and the part that has it.
    private(set) var place = PendingRows.Place(number: 0, part: 0, index: 0)
    private var part: (any AnyPart)?

    init(_ rows: PendingRows) { self.rows = rows }

    /// Starts at the first row.
    func start() { start(nil) }

    /// Starts at the row with this id, and ends after it.
    func start(at number: Int64) { start(rows.position(of: number).map { [$0] } ?? []) }

    /// Starts at the first row whose column holds this integer, and walks these only.
    func start(at value: Int64, in column: Int) throws { start(try rows.positions(ofRowsWith: value, in: column)) }

    private func start(_ chosen: [Int]?) {
        self.chosen = chosen
        count = chosen?.count ?? rows.visible.count
        position = 0
        settle()
    }

    var isAtEnd: Bool { position >= count }

    func advance() {
        position += 1
        settle()
    }

    private func settle() {
        guard !isAtEnd else { return }
        place = rows.visible[chosen?[position] ?? position]
        part = rows.parts[Int(place.part)]
    }

    /// The value of a column of the table: the id, then the entity's.
    func value(_ column: Int) throws -> StoredValue {
        guard column > 0, let part else { return .integer(place.number) }
        return try part.value(at: Int(place.index), column: column - 1)
    }
}
