/// The rows of one entity that layers have changed. SQLite sees them instead of the stored rows.
///
/// The object is recreated whenever the layers change, so creating it must be cheap. The parts, which remain, keep the
/// indexes for look-ups. Only a scan over all rows merges the parts.
///
/// Isolation: that of its connection.
final class PendingRows {
    /// The location of a row's newest change.
    struct Place {
        let number: Int64
        let part: Int32
        let index: Int32
    }

    /// The parts, from the oldest to the newest.
    let parts: [any AnyRowChanges]

    init(_ parts: [any AnyRowChanges]) { self.parts = parts }

    /// An upper bound of the number of rows.
    var limit: Int { parts.reduce(0) { $0 + $1.ids.count } }

    /// The visible rows, in the order of their ids. Complexity: O(rows · parts) at first access.
    private(set) lazy var visible: [Place] = {
        let numbers = parts.map { $0.ids }
        var positions = Array(repeating: 0, count: parts.count)
        var visible: [Place] = []
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
            if isVisible(newest) { visible.append(newest) }
        }
        return visible
    }()

    private lazy var sets = parts.map { $0.idSet }

    /// Whether the stored row with this id is hidden. Complexity: O(parts).
    func isHidden(_ number: Int64) -> Bool {
        for set in sets where set.contains(number) { return true }
        return false
    }

    /// The location of a row; nil if the row is not visible. Complexity: O(parts · log rows).
    func place(of number: Int64) -> Place? {
        for part in parts.indices.reversed() {
            guard let index = parts[part].index(of: number) else { continue }
            let place = Place(number: number, part: Int32(part), index: Int32(index))
            return isVisible(place) ? place : nil
        }
        return nil
    }

    /// The rows whose columns hold these values as SQLite compares them, in the order of their ids.
    ///
    /// Complexity: O(parts · found rows). The first request for these columns also costs O(rows) for each part.
    func places(ofRowsWith values: [StoredValue], in columns: [Int]) throws -> [Place] {
        var places: [Place] = []
        for part in parts.indices {
            for index in parts[part].places(ofRowsLike: values, in: columns) {
                let place = Place(number: parts[part].ids[index], part: Int32(part), index: Int32(index))
                guard isVisible(place), isNewest(place),
                    try zip(columns, values).allSatisfy({ try value(of: place, $0) == $1 })
                else { continue }
                places.append(place)
            }
        }
        if parts.count > 1 { places.sort { $0.number < $1.number } }
        return places
    }

    /// Another row that has the same values in unique columns, and of which this row is the duplicate.
    ///
    /// If both rows are given the values just now, the later row is the duplicate.
    ///
    /// - Parameter isGiven: whether a row is given the values just now.
    func rival(
        of place: Place,
        with values: [StoredValue],
        in columns: [Int],
        isGiven: (Int64) -> Bool
    ) throws -> Int64? {
        try places(ofRowsWith: values, in: columns).map(\.number).first { number in
            number < place.number || (number > place.number && !isGiven(number))
        }
    }

    /// The value of one of the entity's columns.
    func value(of place: Place, _ column: Int) throws -> StoredValue {
        try parts[Int(place.part)].value(at: Int(place.index), column: column)
    }

    private func isVisible(_ place: Place) -> Bool { parts[Int(place.part)].kind(at: Int(place.index)).isVisible }

    /// Whether no later part changes the row.
    private func isNewest(_ place: Place) -> Bool {
        !parts[(Int(place.part) + 1)...].contains { $0.index(of: place.number) != nil }
    }
}

/// Iterates over pending rows: all rows in the order of their ids, a single row, or the rows with certain values.
final class PendingCursor {
    private let rows: PendingRows
    private var chosen: [PendingRows.Place] = []
    private var position = 0
    /// The cursor's current row, and the part that contains it.
    private(set) var place = PendingRows.Place(number: 0, part: 0, index: 0)
    private var part: (any AnyRowChanges)?

    init(_ rows: PendingRows) { self.rows = rows }

    /// Starts at the first row.
    func start() { start(rows.visible) }

    /// Starts at the row with this id, and ends after it.
    func start(at number: Int64) { start(rows.place(of: number).map { [$0] } ?? []) }

    /// Starts at the first row whose columns hold these values, and visits only such rows.
    func start(at values: [StoredValue], in columns: [Int]) throws {
        start(try rows.places(ofRowsWith: values, in: columns))
    }

    private func start(_ chosen: [PendingRows.Place]) {
        self.chosen = chosen
        position = 0
        loadRow()
    }

    var isAtEnd: Bool { position >= chosen.count }

    func advance() {
        position += 1
        loadRow()
    }

    private func loadRow() {
        guard !isAtEnd else { return }
        place = chosen[position]
        part = rows.parts[Int(place.part)]
    }

    /// The value of a column of the virtual table. Column 0 is the id; the entity's columns follow.
    func value(_ column: Int) throws -> StoredValue {
        guard column > 0, let part else { return .integer(place.number) }
        return try part.value(at: Int(place.index), column: column - 1)
    }
}
