/// An attribute in a query whose bytes are stored outside the row. A query can only test whether the attribute is nil.
public struct ExternalColumn<Root: Model>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }

    /// True if the attribute is nil.
    public static func == (left: ExternalColumn, right: _OptionalNilComparisonType) -> Condition<Root> {
        Condition(.isNull(left.node))
    }

    /// True if the attribute is not nil, even if it has zero bytes: empty `Data` is not nil.
    public static func != (left: ExternalColumn, right: _OptionalNilComparisonType) -> Condition<Root> {
        !(left == right)
    }
}
