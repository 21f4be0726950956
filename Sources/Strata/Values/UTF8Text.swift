/// A text that is compared, hashed and sorted by the bytes of its UTF-8: the key of dictionaries and sets whose keys come from
/// applications, stores, files or servers.
///
/// Swift takes the composed and the decomposed form of a letter for equal. SQLite, file systems and servers do not, so that a dictionary
/// with `String` keys mixes two of their names.
///
/// ```swift
/// let tags: [UTF8Text: Data] = try cloud.tags(of: "file")
/// print(tags["version"], tags[UTF8Text(name)])
/// ```
public struct UTF8Text: Hashable, Comparable, Sendable {
    /// The text.
    public let string: String

    /// A text that is compared by bytes.
    public init(_ string: String) { self.string = string }

    /// Whether two texts have the same bytes.
    public static func == (left: UTF8Text, right: UTF8Text) -> Bool { String.isSame(left.string, right.string) }

    /// Whether the bytes of a text come before those of another one.
    public static func < (left: UTF8Text, right: UTF8Text) -> Bool { left.string.precedesByBytes(right.string) }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) { string.hashBytes(into: &hasher) }
}

extension UTF8Text: ExpressibleByStringLiteral, CustomStringConvertible {
    /// A text as a literal.
    public init(stringLiteral string: String) { self.string = string }

    /// The text.
    public var description: String { string }
}

extension UTF8Text: Codable, CodingKeyRepresentable {
    /// The text as a single value.
    public init(from decoder: any Decoder) throws {
        string = try decoder.singleValueContainer().decode(String.self)
    }

    /// The text as a single value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }

    /// The text as the key of an object.
    public var codingKey: any CodingKey { Key(stringValue: string) }

    /// The text of a key of an object.
    public init?(codingKey: some CodingKey) { string = codingKey.stringValue }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension String {
    /// Feeds the bytes of the text, and their end, to a hasher.
    package func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // This byte is in no text's UTF-8.
        hasher.combine(0xFF as UInt8)
    }
}
