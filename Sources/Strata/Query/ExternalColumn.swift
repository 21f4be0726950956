/// An attribute in a query whose bytes are kept outside of the row. It can be asked whether there are any.
public struct ExternalColumn<Root: Model>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }

    /// True where there are no bytes.
    public static func == (left: ExternalColumn, right: _OptionalNilComparisonType) -> Condition<Root> {
        Condition(.isNull(left.node))
    }

    /// True where there are bytes, if only none of them: empty `Data` is not nil.
    public static func != (left: ExternalColumn, right: _OptionalNilComparisonType) -> Condition<Root> {
        !(left == right)
    }
}
