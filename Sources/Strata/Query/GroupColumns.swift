/// The root of expressions that are about a group of a model's objects and not about one of them.
///
/// It has no instances. Such expressions come from ``GroupColumns``.
public enum Grouped<Object: Model>: Sendable {}

/// The expressions that can be asked of a group: its key, and what its objects come to.
///
/// They are compared, calculated with and sorted by as columns are.
///
/// - **Key**: ``key``; `key.0`, `key.1` where there are several
/// - **Counting**: ``count``, ``count(where:)``, ``count(distinct:)``
/// - **Totals**: ``sum(_:)``, ``average(_:)``, ``minimum(_:)``, ``maximum(_:)``
public struct GroupColumns<Object: Model, Key: Sendable>: Sendable {
    /// What the objects of the group have in common.
    public let key: Key

    /// How many objects the group has.
    public var count: Column<Grouped<Object>, Int> { counted() }

    /// How many objects of the group meet a condition.
    public func count(where condition: (Object.Columns) -> Condition<Object>) -> Column<Grouped<Object>, Int> {
        counted(condition: condition(Object.columns).node)
    }

    /// How many different values the objects of the group have. Nil does not count.
    public func count<Value: GroupKey>(distinct value: (Object.Columns) -> Value) -> Column<Grouped<Object>, Int>
    where Value.Root == Object {
        counted(value(Object.columns)._$key.node, isDistinct: true)
    }

    /// The sum of a column; zero where there is nothing to sum up. Values that are nil do not count.
    public func sum<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped.Sum> where Value.Unwrapped: NumericAttributeValue {
        total(.sum, column, ifNone: ValueNode(Value.Unwrapped.Sum.zero))
    }

    /// The average of a column; nil where there is nothing to take it of. Values that are nil do not count.
    public func average<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped.Average?> where Value.Unwrapped: NumericAttributeValue {
        total(.average, column)
    }

    /// The smallest value of a column; nil where there is none.
    public func minimum<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped?> where Value.Unwrapped: OrderedAttributeValue {
        total(.minimum, column)
    }

    /// The largest value of a column; nil where there is none.
    public func maximum<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped?> where Value.Unwrapped: OrderedAttributeValue {
        total(.maximum, column)
    }

    private func counted(
        _ argument: ExpressionNode? = nil,
        isDistinct: Bool = false,
        condition: ConditionNode? = nil
    ) -> Column<Grouped<Object>, Int> {
        Column(
            .aggregate(
                AggregateNode(function: .count, argument: argument, isDistinct: isDistinct, condition: condition)
            )
        )
    }

    private func total<Value: ColumnValue, Result: ColumnValue>(
        _ aggregate: ResultShape.Aggregate,
        _ column: (Object.Columns) -> Column<Object, Value>,
        ifNone: ValueNode? = nil
    ) -> Column<Grouped<Object>, Result> {
        let argument = column(Object.columns).node
        return Column(.aggregate(AggregateNode(function: .total(aggregate), argument: argument, ifNone: ifNone)))
    }
}
