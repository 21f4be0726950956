/// The value of an attribute in a query, or a value calculated from attributes.
///
/// Query closures receive such expressions as `$0.title`. Comparing them with values or with each other creates
/// conditions. Sorts and results name them.
///
/// - **Comparing**: `==`, `!=`, `<`, `<=`, `>`, `>=`, ``between(_:)-(ClosedRange<Value.Unwrapped>)``,
///   ``in(_:)-(Sequence<Value.Unwrapped>)``
/// - **Texts**: ``isEmpty``, ``equals(_:_:)``, ``contains(_:_:)``, ``hasPrefix(_:_:)``, ``hasSuffix(_:_:)``,
///   ``like(_:_:)``, ``matches(_:)``, ``lowercased()``, ``uppercased()``, ``length``
/// - **Booleans**: conditions by themselves alone in `where`, after `!`, and first in a chain
/// - **Numbers**: `+`, `-`, `*`
/// - **Sorting**: ``ascending``, ``descending``
public struct Column<Root, Value: ColumnValue>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }
}

extension Column {
    /// Sorts from the smallest to the largest value, objects without a value first.
    public var ascending: SortKey<Root> { SortKey(node, isDescending: false) }

    /// Sorts from the largest to the smallest value, objects without a value last.
    public var descending: SortKey<Root> { SortKey(node, isDescending: true) }
}

extension Column where Value: TextColumnValue {
    /// Sorts from A to Z under the options. Texts that are equal under the options are sorted by their ids.
    public func ascending(_ options: TextOptions) -> SortKey<Root> {
        SortKey(folded(node, options), isDescending: false)
    }

    /// Sorts from Z to A under the options.
    public func descending(_ options: TextOptions) -> SortKey<Root> {
        SortKey(folded(node, options), isDescending: true)
    }

    private func folded(_ node: ExpressionNode, _ options: TextOptions) -> ExpressionNode {
        options.isEmpty ? node : .function("strata_fold", [node, .value(.stored(.integer(Int64(options.rawValue))))])
    }
}
