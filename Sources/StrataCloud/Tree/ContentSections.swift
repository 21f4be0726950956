public import Strata

/// Sections of a node's content.
public struct ContentSections: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: Int

    /// Creates sections from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Data about the content that is known without reading it: size, dates, version.
    public static let header = ContentSections(rawValue: 1)
    /// Data that the application stores about the content.
    public static let metadata = ContentSections(rawValue: 2)
    /// A small picture of the content.
    public static let thumbnail = ContentSections(rawValue: 4)
    /// The content.
    public static let data = ContentSections(rawValue: 8)
    /// All sections.
    public static let all: ContentSections = [.header, .metadata, .thumbnail, .data]

    /// The sections as single-element sets.
    public var elements: [ContentSections] {
        [.header, .metadata, .thumbnail, .data].filter(contains)
    }
}

extension ContentSections: CustomStringConvertible {
    /// The names of the sections.
    public var description: String {
        zip([ContentSections.header, .metadata, .thumbnail, .data], ["header", "metadata", "thumbnail", "data"])
            .filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}

extension ContentSections: AttributeValue {
    /// The bits as an integer.
    public var storedValue: StoredValue { get throws { .integer(Int64(rawValue)) } }

    /// Creates the sections from stored bits; nil for any other value.
    public init?(storedValue: StoredValue) {
        guard case .integer(let bits) = storedValue, let bits = Int(exactly: bits) else { return nil }
        self.init(rawValue: bits)
    }
}
