/// A type that an attribute of a model may have.
///
/// All integer widths, `Double`, `Float`, `Bool`, `String`, `Data`, `Date`, `UUID`, `URL`, `Decimal`, and arrays, sets
/// and dictionaries of `Codable` values conform already. Your own enum or struct conforms by saying so:
///
/// ```swift
/// enum Status: String, AttributeValue { case draft, published }
/// struct Address: Codable, Equatable, AttributeValue { var street: String; var city: String }
/// ```
///
/// A raw-representable type is kept as its raw value, a `Codable` one as JSON text with sorted keys.
public protocol AttributeValue: PropertyValue, ColumnValue, Sendable, Equatable
where Stored == Self, OptionalStored == Self?, Unwrapped == Self {
    /// The declared type of the column.
    static var columnType: ColumnType { get }

    /// The value as the store keeps it.
    ///
    /// - Throws: whatever encoding throws. ``StrataError`` reports it when the object is saved.
    var storedValue: StoredValue { get throws }

    /// A value read from the store, or nil where `storedValue` is not one of this type's.
    init?(storedValue: StoredValue)

    /// Whether two values are the same to the byte, so that setting one over the other is no change. By default: whether they are equal,
    /// and no text in what is stored has other bytes. Swift takes two spellings of one character for equal.
    static func isSame(_ left: Self, _ right: Self) -> Bool
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

    public var storedValue: StoredValue {
        get throws { try rawValue.storedValue }
    }

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

    public var storedValue: StoredValue {
        get throws { try rawValue.storedValue }
    }

    public init?(storedValue: StoredValue) {
        guard let raw = RawValue(storedValue: storedValue) else { return nil }
        self.init(rawValue: raw)
    }

    @inlinable
    public static func isSame(_ left: Self, _ right: Self) -> Bool { RawValue.isSame(left.rawValue, right.rawValue) }
}
