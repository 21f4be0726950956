public import Strata

/// Sections of a node's content.
public struct ContentSections: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: Int

    /// Sections by their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// What is known of the content without reading it: size, dates, version.
    public static let header = ContentSections(rawValue: 1)
    /// What the application says of the content.
    public static let metadata = ContentSections(rawValue: 2)
    /// A small picture of it.
    public static let thumbnail = ContentSections(rawValue: 4)
    /// The content itself.
    public static let data = ContentSections(rawValue: 8)
    /// All of them.
    public static let all: ContentSections = [.header, .metadata, .thumbnail, .data]

    /// The sections one by one.
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
    /// The bits.
    public var storedValue: StoredValue { get throws { .integer(Int64(rawValue)) } }

    /// The sections of stored bits; nil for something else.
    public init?(storedValue: StoredValue) {
        guard case .integer(let bits) = storedValue, let bits = Int(exactly: bits) else { return nil }
        self.init(rawValue: bits)
    }
}
