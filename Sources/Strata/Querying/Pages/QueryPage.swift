/// A page of a query: adjacent objects, or their rows, in the order of the query.
///
/// ``ObjectContext/page(_:size:after:)`` returns objects. ``ObjectContext/rowPage(_:size:after:)`` and
/// ``ContextStack/page(_:size:after:)`` return rows.
///
/// Isolation: that of its elements. With rows, a page is a value, usable anywhere.
public struct QueryPage<Element> {
    /// The elements, in the order of the query. There are fewer than requested only at an end of the query.
    public let elements: [Element]
    /// The position before the first element, for the parameter `before`. Nil if no objects come before the page.
    ///
    /// A page that follows a position always has this token, because that position had objects before it. If these
    /// objects are deleted, the previous page is empty.
    public let previous: PageToken?
    /// The position after the last element, for the parameter `after`. Nil if no objects follow the page.
    ///
    /// A page that precedes a position always has this token.
    public let next: PageToken?
}

extension QueryPage: Sendable where Element: Sendable {}
