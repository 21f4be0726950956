/// Objects, or their rows, that share a key, in the order of a query.
///
/// Isolation: that of its elements. With rows, a section is a value, usable anywhere.
public struct QuerySection<Key: Sendable, Element> {
    /// The value that the elements have in common.
    public let key: Key
    /// The elements, in the order of the query. There is at least one.
    public internal(set) var elements: [Element]
}

extension QuerySection: Sendable where Element: Sendable {}
