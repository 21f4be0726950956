/// Objects, or their rows, with the same key, in the order of a query.
///
/// Isolation: that of its elements; with rows a value, usable anywhere.
public struct QuerySection<Key: Sendable, Element> {
    /// What the elements have in common.
    public let key: Key
    /// The elements, in the order of the query. There is at least one.
    public internal(set) var elements: [Element]
}

extension QuerySection: Sendable where Element: Sendable {}
