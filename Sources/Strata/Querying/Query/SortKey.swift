/// One criterion of a sort: an expression and a direction.
///
/// ``Column/ascending`` and ``Column/descending`` create sort keys.
public struct SortKey<Root>: Sendable {
    var node: SortNode

    init(_ expression: ExpressionNode, isDescending: Bool) {
        node = SortNode(expression: expression, isDescending: isDescending)
    }

    /// The same key, with objects that have no value at the end, whatever the direction.
    public var nilsLast: SortKey { with(nilsFirst: false) }

    /// The same key, with objects that have no value at the beginning, whatever the direction.
    public var nilsFirst: SortKey { with(nilsFirst: true) }

    private func with(nilsFirst: Bool) -> SortKey {
        var result = self
        result.node.nilsFirst = nilsFirst
        return result
    }
}

/// A criterion of a sort, without generic types.
struct SortNode: Sendable {
    let expression: ExpressionNode
    var isDescending: Bool
    /// Whether NULL comes first. If nil, SQLite's default applies: first when ascending and last when descending.
    var nilsFirst: Bool?

    var reversed: SortNode {
        SortNode(expression: expression, isDescending: !isDescending, nilsFirst: nilsFirst.map { !$0 })
    }
}

/// An expression that a query can be sorted by without a direction, from the smallest value to the largest.
///
/// Such an expression is a column, a calculation with columns, an id, or a to-one relationship.
///
/// A to-one relationship sorts by the id of its destination. Objects without a destination come first. Objects with the
/// same destination are neighbours. For another order, name a column of the destination:
/// `Article.sorted { $0.author.name }`.
public protocol SortExpression<Root>: Sendable {
    /// The model of the objects, or its groups.
    associatedtype Root

    var _$sortKey: SortKey<Root> { get }
}

extension Column: SortExpression {
    public var _$sortKey: SortKey<Root> { ascending }
}

extension IDColumn: SortExpression {
    public var _$sortKey: SortKey<Root> { ascending }
}

extension ToOne: SortExpression {
    public var _$sortKey: SortKey<Root> { IDColumn<Root, Destination>(_$path).ascending }
}
