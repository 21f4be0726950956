/// One criterion of a sort: an expression and a direction. Made by ``Column/ascending`` and ``Column/descending``.
public struct SortKey<Root>: Sendable {
    var node: SortNode

    init(_ expression: ExpressionNode, isDescending: Bool) {
        node = SortNode(expression: expression, isDescending: isDescending)
    }

    /// The same, with objects that have no value at the end, whatever the direction.
    public var nilsLast: SortKey { with(nilsFirst: false) }

    /// The same, with objects that have no value at the beginning, whatever the direction.
    public var nilsFirst: SortKey { with(nilsFirst: true) }

    private func with(nilsFirst: Bool) -> SortKey {
        var result = self
        result.node.nilsFirst = nilsFirst
        return result
    }
}

/// A criterion of a sort, free of generic types.
struct SortNode: Sendable {
    let expression: ExpressionNode
    var isDescending: Bool
    /// Nil: as SQLite does, first when ascending and last when descending.
    var nilsFirst: Bool?

    var reversed: SortNode {
        SortNode(expression: expression, isDescending: !isDescending, nilsFirst: nilsFirst.map { !$0 })
    }
}
