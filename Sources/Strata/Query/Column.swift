/// The value of an attribute in a query, or what is calculated from it.
///
/// Query closures get such expressions as `$0.title`. They are compared with values and with each other, to conditions,
/// and named in sorts and results.
///
/// - **Comparing**: `==`, `!=`, `<`, `<=`, `>`, `>=`, ``between(_:)``, ``in(_:)``
/// - **Texts**: ``isEmpty``, ``equals(_:_:)``, ``contains(_:_:)``, ``hasPrefix(_:_:)``, ``hasSuffix(_:_:)``,
///   ``like(_:_:)``, ``matches(_:)``, ``lowercased()``, ``uppercased()``, ``length``
/// - **Truth values**: conditions by themselves alone in `where`, behind `!`, and first in a chain
/// - **Numbers**: `+`, `-`, `*`
/// - **Sorting**: ``ascending``, ``descending``
public struct Column<Root, Value: ColumnValue>: Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }
}

extension Column {
    /// From the smallest to the largest, objects without a value first.
    public var ascending: SortKey<Root> { SortKey(node, isDescending: false) }

    /// From the largest to the smallest, objects without a value last.
    public var descending: SortKey<Root> { SortKey(node, isDescending: true) }
}

extension Column where Value: TextColumnValue {
    /// From A to Z under the options. Texts that are the same under them stay in the order of their ids.
    public func ascending(_ options: TextOptions) -> SortKey<Root> {
        SortKey(folded(node, options), isDescending: false)
    }

    /// From Z to A under the options.
    public func descending(_ options: TextOptions) -> SortKey<Root> {
        SortKey(folded(node, options), isDescending: true)
    }

    private func folded(_ node: ExpressionNode, _ options: TextOptions) -> ExpressionNode {
        options.isEmpty ? node : .function("strata_fold", [node, .value(.stored(.integer(Int64(options.rawValue))))])
    }
}
