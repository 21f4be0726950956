public import Foundation

extension String: AttributeValue {
    public static var columnType: ColumnType { .text }
    public var storedValue: StoredValue { .text(self) }

    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        self = text
    }

    /// Whether two texts have the same UTF-8 bytes.
    ///
    /// Two spellings of one character are equal in Swift but different in the store, so `==` is not enough.
    public static func isSame(_ left: String, _ right: String) -> Bool { left.hasSameBytes(as: right) }
}

extension Data: AttributeValue {
    public static var columnType: ColumnType { .blob }
    public var storedValue: StoredValue { .blob(self) }

    public init?(storedValue: StoredValue) {
        guard case .blob(let data) = storedValue else { return nil }
        self = data
    }

    @inlinable
    public static func isSame(_ left: Data, _ right: Data) -> Bool { left == right }
}

extension Date: AttributeValue {
    public static var columnType: ColumnType { .real }

    /// Seconds since 1 January 2001, 00:00 UTC.
    ///
    /// `Date` itself keeps this number, so nothing is rounded. In SQL: `datetime(column + 978307200, 'unixepoch')`.
    public var storedValue: StoredValue { .real(timeIntervalSinceReferenceDate) }

    public init?(storedValue: StoredValue) {
        guard let seconds = Double(storedValue: storedValue) else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }

    @inlinable
    public static func isSame(_ left: Date, _ right: Date) -> Bool { left == right }
}

extension UUID: AttributeValue {
    public static var columnType: ColumnType { .blob }

    /// The sixteen bytes of the UUID.
    public var storedValue: StoredValue { .blob(withUnsafeBytes(of: uuid) { Data($0) }) }

    public init?(storedValue: StoredValue) {
        guard case .blob(let data) = storedValue, data.count == 16 else { return nil }
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: data) }
        self.init(uuid: bytes)
    }

    @inlinable
    public static func isSame(_ left: UUID, _ right: UUID) -> Bool { left == right }
}

extension URL: AttributeValue {
    public static var columnType: ColumnType { .text }
    public var storedValue: StoredValue { .text(absoluteString) }

    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        self.init(string: text)
    }

    /// Whether two URLs are equal and their absolute strings have the same bytes.
    public static func isSame(_ left: URL, _ right: URL) -> Bool {
        left == right && String.isSame(left.absoluteString, right.absoluteString)
    }
}

extension Array: PropertyValue where Element: AttributeValue & Codable {}
extension Array: AttributeValue where Element: AttributeValue & Codable {}
extension Array where Element: AttributeValue & Codable {
    /// Decodes the elements from the stored JSON.
    ///
    /// Most rows have an empty array, so `[]` is recognized without decoding.
    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        guard let elements = text == "[]" ? [] : JSONText.decode(Self.self, from: text) else { return nil }
        self = elements
    }

    /// Compares the arrays element by element.
    public static func isSame(_ left: Self, _ right: Self) -> Bool { left.elementsEqual(right, by: Element.isSame) }
}
extension Set: PropertyValue where Element: AttributeValue & Codable {}
extension Set: AttributeValue where Element: AttributeValue & Codable {}
extension Set where Element: AttributeValue & Codable {
    /// A JSON array whose elements are sorted by their texts, so that equal sets have equal texts.
    public var storedValue: StoredValue {
        get throws { .text("[" + (try map { try JSONText.encode($0) }).sortedByBytes().joined(separator: ",") + "]") }
    }
}

extension Dictionary: PropertyValue where Key: AttributeValue & Codable, Value: AttributeValue & Codable {}
extension Dictionary: AttributeValue where Key: AttributeValue & Codable, Value: AttributeValue & Codable {}
