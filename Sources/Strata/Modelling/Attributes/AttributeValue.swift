/// A type that an attribute of a model can have.
///
/// All integer widths, `Double`, `Float`, `Bool`, `String`, `Data`, `Date`, `UUID`, `URL`, `Decimal`, and arrays, sets
/// and dictionaries of `Codable` values already conform. For your own enum or struct, declare the conformance:
///
/// ```swift
/// enum Status: String, AttributeValue { case draft, published }
/// struct Address: Codable, Equatable, AttributeValue { var street: String; var city: String }
/// ```
///
/// A raw-representable type is stored as its raw value. A `Codable` type is stored as JSON text with sorted keys.
public protocol AttributeValue: PropertyValue, ColumnValue, Sendable, Equatable
where Stored == Self, OptionalStored == Self?, Unwrapped == Self {
    /// The declared type of the column.
    static var columnType: ColumnType { get }

    /// The value in the form in which the store keeps it.
    ///
    /// - Throws: any error of the encoding. ``StrataError`` reports the error when the object is saved.
    var storedValue: StoredValue { get throws }

    /// Creates a value from the store's form, or nil if `storedValue` is not a value of this type.
    init?(storedValue: StoredValue)

    /// Whether two values are identical to the byte, so that replacing one with the other is not a change.
    ///
    /// By default, two values are the same if they are equal and their stored texts have the same bytes. The bytes
    /// matter because Swift considers two spellings of one character equal.
    static func isSame(_ left: Self, _ right: Self) -> Bool

    /// Encodes the value as a part of a row.
    func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws

    /// Decodes the value as a part of a row. The key exists and may be null.
    static func _$decode<Key: CodingKey>(from container: KeyedDecodingContainer<Key>, forKey key: Key) throws -> Self
}

extension AttributeValue {
    public static func isSame(_ left: Self, _ right: Self) -> Bool {
        left == right && StoredTexts.areSame(try? left.storedValue, try? right.storedValue)
    }

    @inlinable
    public static func _$load(_ stored: Self, of owner: some Model, at column: Int) -> Self { stored }

    @inlinable
    public static func _$loadOptional(_ stored: Self?, of owner: some Model, at column: Int) -> Self? { stored }

    @inlinable
    public static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Self { value }

    @inlinable
    public static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> Self? { value }

    @inlinable
    public static func _$isSame(_ left: Self, _ right: Self) -> Bool { isSame(left, right) }

    @inlinable
    public static func _$isSameOptional(_ left: Self?, _ right: Self?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): isSame(left, right)
        default: false
        }
    }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    public static var columnType: ColumnType { RawValue.columnType }

    @inlinable
    public var storedValue: StoredValue {
        get throws { try rawValue.storedValue }
    }

    @inlinable
    public init?(storedValue: StoredValue) {
        guard let raw = RawValue(storedValue: storedValue) else { return nil }
        self.init(rawValue: raw)
    }

    @inlinable
    public static func isSame(_ left: Self, _ right: Self) -> Bool { RawValue.isSame(left.rawValue, right.rawValue) }
}

extension AttributeValue where Self: Codable {
    public static var columnType: ColumnType { .text }

    public var storedValue: StoredValue {
        get throws { .text(try JSONText.encode(self)) }
    }

    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue, let value = JSONText.decode(Self.self, from: text) else { return nil }
        self = value
    }

    public static func isSame(_ left: Self, _ right: Self) -> Bool {
        left == right && StoredTexts.haveSameParts(try? left.storedValue, try? right.storedValue)
    }
}

extension AttributeValue where Self: RawRepresentable & Codable, RawValue: AttributeValue {
    public static var columnType: ColumnType { RawValue.columnType }

    @inlinable
    public var storedValue: StoredValue {
        get throws { try rawValue.storedValue }
    }

    @inlinable
    public init?(storedValue: StoredValue) {
        guard let raw = RawValue(storedValue: storedValue) else { return nil }
        self.init(rawValue: raw)
    }

    @inlinable
    public static func isSame(_ left: Self, _ right: Self) -> Bool { RawValue.isSame(left.rawValue, right.rawValue) }
}
