/// A member of a many-to-many relationship, or the place of a member in an ordered one.
///
/// `left` is the object whose side of the relationship names the inverse. Members are ordered by fractional keys, and
/// members with equal keys by id. A member can therefore be moved without changes to the other members.
struct JoinRow: StoredRow {
    let _$id: Int64
    var left: Int64
    var right: Int64
    /// The member's place among the members of `left`.
    var leftPlace: Double?
    /// The place of `left` among the members of `right`, if that side is ordered.
    var rightPlace: Double?

    enum Column {
        static let left = 0
        static let right = 1
        static let leftPlace = 2
        static let rightPlace = 3
        /// The two columns that identify a member.
        static let ends = [left, right]
    }

    /// - Parameters:
    ///   - left: the model at the left end; nil if only the store's record describes it.
    ///   - right: the same for the right end.
    static func columns(left: ModelReference?, right: ModelReference?) -> [ColumnSchema] {
        [
            .reference("left", to: left), .reference("right", to: right), ._$column("left_place", Double?.self),
            ._$column("right_place", Double?.self),
        ]
    }

    init(number: Int64, left: Int64, right: Int64, leftPlace: Double? = nil, rightPlace: Double? = nil) {
        _$id = number
        self.left = left
        self.right = right
        self.leftPlace = leftPlace
        self.rightPlace = rightPlace
    }

    init(_$from reader: RowReader) throws {
        _$id = try reader.read(Int64.self, at: 0)
        left = try reader.read(Int64.self, at: 1)
        right = try reader.read(Int64.self, at: 2)
        leftPlace = try reader.read(Double?.self, at: 3)
        rightPlace = try reader.read(Double?.self, at: 4)
    }

    static func _$bind(_ row: UnsafePointer<JoinRow>, to binder: inout RowBinder) throws {
        try binder.bind(row.pointee._$id, at: 1)
        try binder.bind(row.pointee.left, at: 2)
        try binder.bind(row.pointee.right, at: 3)
        try binder.bind(row.pointee.leftPlace, at: 4)
        try binder.bind(row.pointee.rightPlace, at: 5)
    }

    static func _$bind(_ columns: ColumnSet, of row: UnsafePointer<JoinRow>, to binder: inout RowBinder) throws {
        var index: Int32 = 0
        for column in columns {
            index += 1
            try binder.bind(stored: try _$value(row, at: column), at: index)
        }
    }

    static func _$value(_ row: UnsafePointer<JoinRow>, at column: Int) throws -> StoredValue {
        switch column {
        case Column.left: .integer(row.pointee.left)
        case Column.right: .integer(row.pointee.right)
        case Column.leftPlace: row.pointee.leftPlace.map(StoredValue.real) ?? .null
        default: row.pointee.rightPlace.map(StoredValue.real) ?? .null
        }
    }

    mutating func _$set(_ value: StoredValue, at column: Int) throws {
        switch (column, value) {
        case (Column.left, .integer(let number)): left = number
        case (Column.right, .integer(let number)): right = number
        case (Column.leftPlace, _): leftPlace = Double(storedValue: value)
        case (Column.rightPlace, _): rightPlace = Double(storedValue: value)
        default: throw StrataError(.undecodable, "\(value) is not an id at the end of a relationship.")
        }
    }

    mutating func _$copy(_ columns: ColumnSet, from other: JoinRow) {
        if columns.contains(Column.left) { left = other.left }
        if columns.contains(Column.right) { right = other.right }
        if columns.contains(Column.leftPlace) { leftPlace = other.leftPlace }
        if columns.contains(Column.rightPlace) { rightPlace = other.rightPlace }
    }

    func _$differences(from other: JoinRow) -> ColumnSet {
        var result = ColumnSet()
        if left != other.left { result.insert(Column.left) }
        if right != other.right { result.insert(Column.right) }
        if leftPlace != other.leftPlace { result.insert(Column.leftPlace) }
        if rightPlace != other.rightPlace { result.insert(Column.rightPlace) }
        return result
    }
}

extension ColumnSchema {
    /// A to-one column that must not be empty.
    static func reference(_ name: String, to destination: ModelReference?) -> ColumnSchema {
        ColumnSchema(
            name: name,
            type: .integer,
            isOptional: false,
            destination: destination,
            deleteRule: .nullify,
            options: []
        )
    }
}
