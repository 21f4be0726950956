/// A row of the result of handwritten SQL.
///
/// Isolation: a value, usable anywhere.
public struct SQLRow: Sendable {
    /// The column names of a result, shared by all of its rows.
    final class Names: Sendable {
        let all: [String]
        let indexes: [UTF8Text: Int]

        init(_ all: [String]) {
            self.all = all
            indexes = Dictionary(zip(all.map(UTF8Text.init(_:)), all.indices), uniquingKeysWith: { first, _ in first })
        }
    }

    /// The stored values, from left to right.
    public let values: [StoredValue]
    private let names: Names
    private let fingerprint: UInt16

    init(_ values: [StoredValue], _ names: Names, fingerprint: UInt16) {
        self.values = values
        self.names = names
        self.fingerprint = fingerprint
    }

    /// The names of the columns, from left to right.
    public var columnNames: [String] { names.all }

    /// The value of the first column with this name; nil if there is no such column.
    public subscript(name: String) -> StoredValue? { names.indexes[UTF8Text(name)].map { values[$0] } }

    /// The value of the first column with this name, as an attribute type or an optional of one.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` if there is no such column, or with `undecodable` if its value is
    ///   not of that type.
    public func value<Value: ColumnValue>(_ type: Value.Type, _ name: String) throws -> Value {
        guard let index = names.indexes[UTF8Text(name)] else { throw noColumn("called '\(name)'") }
        return try value(Value.self, at: index)
    }

    /// The value of a column by its index, starting at 0: see ``value(_:_:)``.
    public func value<Value: ColumnValue>(_ type: Value.Type, at index: Int) throws -> Value {
        guard values.indices.contains(index) else { throw noColumn("at \(index)") }
        return try Value._$value(values[index], in: names.all[index])
    }

    /// The id in the first column with this name; nil for NULL.
    ///
    /// - Throws: as ``value(_:_:)``.
    public func id<Object: Model>(of model: Object.Type, _ name: String = "id") throws -> ObjectID<Object>? {
        try value(Int64?.self, name).map { number in
            guard ObjectIDRawValues.all.contains(number) else {
                throw UndecodableValue(value: .integer(number), type: "\(ObjectID<Object>.self)", column: name).error
            }
            return ObjectID(rawValue: number, fingerprint: fingerprint)
        }
    }

    private func noColumn(_ text: String) -> StrataError {
        StrataError(
            .invalidQuery,
            "The SQL does not return a column \(text). Its columns are: \(names.all.joined(separator: ", "))."
        )
    }
}
