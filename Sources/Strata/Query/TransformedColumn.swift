/// An attribute in a query that is stored by a transformer. It is compared with values of the attribute's type; what else a
/// query may ask is asked of ``stored``.
public struct TransformedColumn<Root: Model, Transformer: ValueTransformer>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }

    /// What the column holds, to be compared, searched, sorted by and given as a result as any other column.
    public var stored: Column<Root, Transformer.Stored?> { Column(node) }

    /// True where the values are stored alike. As in Swift, nil equals nil and nothing else.
    public static func == (left: TransformedColumn, right: Transformer.Value?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(Transformed<Transformer>(right)))))
    }

    /// True where the values are stored differently, or one of them is nil.
    public static func != (left: TransformedColumn, right: Transformer.Value?) -> Condition<Root> { !(left == right) }

    /// True where the value is one of these.
    public func `in`(_ values: some Sequence<Transformer.Value>) -> Condition<Root> {
        Condition(.member(node, of: values.map { ValueNode(Transformed<Transformer>($0)) }))
    }
}
