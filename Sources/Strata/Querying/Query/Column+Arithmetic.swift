/// Calculations in SQL. An integer result beyond 64 bits becomes a floating-point number instead of a trap.
extension Column where Value.Unwrapped: ArithmeticAttributeValue {
    /// The column plus a number; nil if the column is nil.
    public static func + (left: Column, right: Value.Unwrapped) -> Column { left.calculated("+", right) }

    /// The column minus a number; nil if the column is nil.
    public static func - (left: Column, right: Value.Unwrapped) -> Column { left.calculated("-", right) }

    /// The column times a number; nil if the column is nil.
    public static func * (left: Column, right: Value.Unwrapped) -> Column { left.calculated("*", right) }

    /// The sum of two columns; nil if either column is nil.
    public static func + <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Column<Root, Value.Unwrapped?> where Other.Unwrapped == Value.Unwrapped {
        Column<Root, Value.Unwrapped?>(.arithmetic("+", left.node, right.node))
    }

    /// The difference of two columns; nil if either column is nil.
    public static func - <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Column<Root, Value.Unwrapped?> where Other.Unwrapped == Value.Unwrapped {
        Column<Root, Value.Unwrapped?>(.arithmetic("-", left.node, right.node))
    }

    /// The product of two columns; nil if either column is nil.
    public static func * <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Column<Root, Value.Unwrapped?> where Other.Unwrapped == Value.Unwrapped {
        Column<Root, Value.Unwrapped?>(.arithmetic("*", left.node, right.node))
    }

    private func calculated(_ sign: String, _ value: Value.Unwrapped) -> Column {
        Column(.arithmetic(sign, node, .value(ValueNode(value))))
    }
}
