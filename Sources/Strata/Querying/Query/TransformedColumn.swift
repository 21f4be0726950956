/// An attribute in a query that is stored by a transformer.
///
/// The attribute is compared with values of its own type. For all other uses in a query, use ``stored``.
public struct TransformedColumn<Root: Model, Transformer: ValueTransformer>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }

    /// The column's content, which can be compared, searched, sorted by and returned as a result like any other column.
    public var stored: Column<Root, Transformer.Stored?> { Column(node) }

    /// True if the values are stored as equal values. As in Swift, nil equals only nil.
    public static func == (left: TransformedColumn, right: Transformer.Value?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(Transformed<Transformer>(right)))))
    }

    /// True if the values are stored as different values, or exactly one of them is nil.
    public static func != (left: TransformedColumn, right: Transformer.Value?) -> Condition<Root> { !(left == right) }

    /// True if the value is one of `values`.
    public func `in`(_ values: some Sequence<Transformer.Value>) -> Condition<Root> {
        Condition(.member(node, of: values.map { ValueNode(Transformed<Transformer>($0)) }))
    }
}
