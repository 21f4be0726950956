/// The root type of expressions about a group of a model's objects, as opposed to a single object.
///
/// The type has no instances. ``GroupColumns`` provides such expressions.
public enum Grouped<Object: Model>: Sendable {}

/// The expressions about a group: its key, and aggregates of its objects.
///
/// The expressions can be compared, used in calculations and sorted by, like columns.
///
/// - **Key**: ``key``; `key.0`, `key.1` for several keys
/// - **Counting**: ``count``, ``count(where:)``, ``count(distinct:)``
/// - **Totals**: ``sum(_:)``, ``average(_:)``, ``minimum(_:)``, ``maximum(_:)``
public struct GroupColumns<Object: Model, Key: Sendable>: Sendable {
    /// The value that the objects of the group have in common.
    public let key: Key

    /// The number of objects in the group.
    public var count: Column<Grouped<Object>, Int> { counted() }

    /// The number of objects in the group that meet a condition.
    public func count(where condition: (Object.Columns) -> Condition<Object>) -> Column<Grouped<Object>, Int> {
        counted(condition: condition(Object.columns).node)
    }

    /// The number of distinct values that the objects of the group have. Nil does not count.
    public func count<Value: GroupKey>(distinct value: (Object.Columns) -> Value) -> Column<Grouped<Object>, Int>
    where Value.Root == Object {
        counted(value(Object.columns)._$key.node, isDistinct: true)
    }

    /// The sum of a column; zero if there are no values. Nil values do not count.
    public func sum<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped.Sum> where Value.Unwrapped: NumericAttributeValue {
        total(.sum, column, ifNone: ValueNode(Value.Unwrapped.Sum.zero))
    }

    /// The average of a column; nil if there are no values. Nil values do not count.
    public func average<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped.Average?> where Value.Unwrapped: NumericAttributeValue {
        total(.average, column)
    }

    /// The smallest value of a column; nil if there are no values.
    public func minimum<Value: ColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) -> Column<Grouped<Object>, Value.Unwrapped?> where Value.Unwrapped: OrderedAttributeValue {
        total(.minimum, column)
    }

    /// The largest value of a column; nil if there are no values.
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
