/// A text that is compared, hashed and sorted by its UTF-8 bytes.
///
/// Use this type for dictionaries and sets whose keys come from applications, stores, files or servers. Swift considers
/// the composed and the decomposed form of a letter equal. SQLite, file systems and servers do not, so a dictionary
/// with `String` keys would confuse two of their names.
///
/// ```swift
/// let tags: [UTF8Text: Data] = try cloud.tags(of: "file")
/// print(tags["version"], tags[UTF8Text(name)])
/// ```
public struct UTF8Text: Hashable, Comparable, Sendable {
    /// The text.
    public let string: String

    /// Creates a text that is compared by its bytes.
    public init(_ string: String) { self.string = string }

    /// Whether two texts have the same bytes.
    public static func == (left: UTF8Text, right: UTF8Text) -> Bool { left.string.hasSameBytes(as: right.string) }

    /// Whether the bytes of the left text come before the bytes of the right text.
    public static func < (left: UTF8Text, right: UTF8Text) -> Bool { left.string.precedesByBytes(right.string) }

    /// Hashes the bytes, consistently with `==`.
    public func hash(into hasher: inout Hasher) { string.hashBytes(into: &hasher) }
}

extension UTF8Text: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a text from a literal.
    public init(stringLiteral string: String) { self.string = string }

    /// The text.
    public var description: String { string }
}

extension UTF8Text: Codable, CodingKeyRepresentable {
    /// Decodes the text from a single value.
    public init(from decoder: any Decoder) throws {
        string = try decoder.singleValueContainer().decode(String.self)
    }

    /// Encodes the text as a single value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }

    /// The text as the key of an encoded object.
    public var codingKey: any CodingKey { Key(stringValue: string) }

    /// Creates a text from the key of an encoded object.
    public init?(codingKey: some CodingKey) { string = codingKey.stringValue }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension String {
    /// Feeds the bytes of the text and an end marker to a hasher.
    package func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // UTF-8 never contains the byte 0xFF, so it marks the end unambiguously.
        hasher.combine(0xFF as UInt8)
    }
}
