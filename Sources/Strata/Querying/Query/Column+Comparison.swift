// Operators are declared on the concrete generic struct, with one overload for values and one for columns. Each further
// overload would slow down the type checker in every predicate.

extension Column {
    /// True if the values are equal as the store compares them: texts by their bytes, `Decimal` as numbers.
    ///
    /// As in Swift, nil equals only nil.
    public static func == (left: Column, right: Value.Unwrapped?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(right))))
    }

    /// True if the values differ. As in Swift, this includes a value and nil: `nil != "x"`.
    public static func != (left: Column, right: Value.Unwrapped?) -> Condition<Root> { !(left == right) }

    /// True if both columns hold the same value, or both are nil.
    public static func == <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.equal(left.node, right.node))
    }

    /// True if two columns hold different values, or exactly one of them is nil.
    public static func != <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.not(.equal(left.node, right.node)))
    }
}

extension Column where Value.Unwrapped: OrderedAttributeValue {
    /// True if the value is not nil and smaller.
    public static func < (left: Column, right: Value.Unwrapped) -> Condition<Root> { left.compared(.less, right) }

    /// True if the value is not nil and not larger.
    public static func <= (left: Column, right: Value.Unwrapped) -> Condition<Root> {
        left.compared(.lessOrEqual, right)
    }

    /// True if the value is not nil and larger.
    public static func > (left: Column, right: Value.Unwrapped) -> Condition<Root> { left.compared(.greater, right) }

    /// True if the value is not nil and not smaller.
    public static func >= (left: Column, right: Value.Unwrapped) -> Condition<Root> {
        left.compared(.greaterOrEqual, right)
    }

    /// True if neither value is nil and the first is smaller.
    public static func < <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .less, right.node))
    }

    /// True if neither value is nil and the first is not larger.
    public static func <= <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .lessOrEqual, right.node))
    }

    /// True if neither value is nil and the first is larger.
    public static func > <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .greater, right.node))
    }

    /// True if neither value is nil and the first is not smaller.
    public static func >= <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .greaterOrEqual, right.node))
    }

    func compared(_ sign: ConditionNode.Comparison, _ value: Value.Unwrapped) -> Condition<Root> {
        Condition(.compare(node, sign, .value(ValueNode(value))))
    }
}
