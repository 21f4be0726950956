// Overloads for a Boolean column that is a condition by itself, as in Column+Bool.swift.

extension Many {
    /// The members for which the column is true.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Members<Object>
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}

extension Members {
    /// These members, restricted to those for which the column is true.
    @_disfavoredOverload
    public func `where`<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Members
    where Value.Unwrapped == Bool { self.where { column($0).condition } }
}
