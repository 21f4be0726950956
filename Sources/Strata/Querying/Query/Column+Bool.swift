// A Boolean column is a condition by itself in only three places: alone in `where`, after `!`, and first in a chain. In
// other places, compare it with `true`. With overloads of `&&` for both sides, the type checker spends half a minute on
// one mistake in a chain of a dozen terms, and then cannot locate the mistake. The overloads below have no measurable
// cost.

extension Column where Value.Unwrapped == Bool {
    /// True if the value is true.
    var condition: Condition<Root> { Condition(.equal(node, .value(ValueNode(true)))) }

    /// True if the value is false or nil.
    public static prefix func ! (column: Column) -> Condition<Root> { !column.condition }

    /// True if both the column and the condition are true.
    @_disfavoredOverload
    public static func && (left: Column, right: Condition<Root>) -> Condition<Root> { left.condition && right }

    /// True if the column or the condition is true.
    @_disfavoredOverload
    public static func || (left: Column, right: Condition<Root>) -> Condition<Root> { left.condition || right }
}

extension Query {
    /// The objects of this query for which the column is true.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Query
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}

extension Model {
    /// The objects for which the column is true.
    @_disfavoredOverload
    public static func `where`<Value: ColumnValue>(_ column: (Columns) -> Column<Self, Value>) -> Query<Self>
    where Value.Unwrapped == Bool { Query().where(column) }
}
