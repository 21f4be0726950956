public import Foundation

extension AttributeValue where Self: FixedWidthInteger & Codable {
    public static var columnType: ColumnType { .integer }

    /// An integer or, beyond `Int64.max`, the eight bytes of the number, most significant byte first.
    ///
    /// SQLite orders blobs after integers and by their bytes, so comparing and sorting stay correct.
    public var storedValue: StoredValue {
        if let value = Int64(exactly: self) { return .integer(value) }
        return .blob(withUnsafeBytes(of: UInt64(truncatingIfNeeded: self).bigEndian) { Data($0) })
    }

    public init?(storedValue: StoredValue) {
        switch storedValue {
        case .integer(let value):
            self.init(exactly: value)
        case .blob(let data) where data.count == 8:
            self.init(exactly: data.reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64($1) })
        default:
            return nil
        }
    }

    @inlinable
    public static func isSame(_ left: Self, _ right: Self) -> Bool { left == right }
}

extension Int: AttributeValue {}
extension Int8: AttributeValue {}
extension Int16: AttributeValue {}
extension Int32: AttributeValue {}
extension Int64: AttributeValue {}
extension UInt: AttributeValue {}
extension UInt8: AttributeValue {}
extension UInt16: AttributeValue {}
extension UInt32: AttributeValue {}
extension UInt64: AttributeValue {}

extension Bool: AttributeValue {
    public static var columnType: ColumnType { .integer }
    public var storedValue: StoredValue { .integer(self ? 1 : 0) }

    public init?(storedValue: StoredValue) {
        switch storedValue {
        case .integer(0): self = false
        case .integer(1): self = true
        default: return nil
        }
    }

    @inlinable
    public static func isSame(_ left: Bool, _ right: Bool) -> Bool { left == right }
}

extension Double: AttributeValue {
    public static var columnType: ColumnType { .real }
    public var storedValue: StoredValue { .real(self) }

    public init?(storedValue: StoredValue) {
        switch storedValue {
        case .real(let value): self = value
        case .integer(let value): self = Double(value)
        default: return nil
        }
    }

    /// Compares bit by bit, except that -0.0 equals 0.0, because SQLite keeps -0.0 as 0.0.
    public static func isSame(_ left: Double, _ right: Double) -> Bool {
        left == right || left.bitPattern == right.bitPattern
    }
}

extension Float: AttributeValue {
    public static var columnType: ColumnType { .real }
    public var storedValue: StoredValue { .real(Double(self)) }

    public init?(storedValue: StoredValue) {
        guard let value = Double(storedValue: storedValue) else { return nil }
        self.init(value)
        // A number too large for `Float` yields nil instead of infinity.
        if isInfinite && value.isFinite { return nil }
    }

    /// Compares bit by bit, except that -0.0 equals 0.0, because SQLite keeps -0.0 as 0.0.
    public static func isSame(_ left: Float, _ right: Float) -> Bool {
        left == right || left.bitPattern == right.bitPattern
    }
}

extension Decimal: AttributeValue {
    public static var columnType: ColumnType { .text }

    /// The shortest decimal notation, which is exact. Queries compare and sort it as a number.
    public var storedValue: StoredValue { .text(description) }

    public init?(storedValue: StoredValue) {
        switch storedValue {
        // Foundation accepts any text that begins with a number, so the whole text is checked first.
        case .text(let text) where DecimalText.isNumber(text):
            self.init(string: text, locale: Locale(identifier: "en_US_POSIX"))
        case .integer(let value): self.init(value)
        case .real(let value): self.init(value)
        default: return nil
        }
    }

    @inlinable
    public static func isSame(_ left: Decimal, _ right: Decimal) -> Bool { left == right }
}
