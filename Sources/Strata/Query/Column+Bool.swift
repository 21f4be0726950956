// A column of truth values is a condition by itself alone in `where`, behind `!`, and first in a chain. Elsewhere it is
// compared with `true`: with overloads of `&&` for both sides, the type checker spends half a minute on one mistake in a
// chain of a dozen terms, and then cannot say where it is. These here cost nothing that could be measured.

extension Column where Value.Unwrapped == Bool {
    /// True where the value is.
    var condition: Condition<Root> { Condition(.equal(node, .value(ValueNode(true)))) }

    /// True where the value is not, also where there is none.
    public static prefix func ! (column: Column) -> Condition<Root> { !column.condition }

    /// True where both are.
    @_disfavoredOverload
    public static func && (left: Column, right: Condition<Root>) -> Condition<Root> { left.condition && right }

    /// True where at least one is.
    @_disfavoredOverload
    public static func || (left: Column, right: Condition<Root>) -> Condition<Root> { left.condition || right }
}

extension Query {
    /// The objects of which this column is true as well.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Query
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}

extension Model {
    /// The objects of which this column is true.
    @_disfavoredOverload
    public static func `where`<Value: ColumnValue>(_ column: (Columns) -> Column<Self, Value>) -> Query<Self>
    where Value.Unwrapped == Bool { Query().where(column) }
}

extension Many {
    /// The members of which this column is true.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Members<Object>
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}

extension Members {
    /// The members of which this column is true as well.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Members
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}
