// Operators are declared on the concrete generic struct, one overload for values and one for columns: each further one
// is paid for by the type checker in every predicate.

extension Column {
    /// True where the values are equal, as the store compares them: texts by their bytes, `Decimal` as numbers.
    ///
    /// As in Swift, nil equals nil and nothing else.
    public static func == (left: Column, right: Value.Unwrapped?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(right))))
    }

    /// True where the values differ. As in Swift, also where one of them is nil: `nil != "x"`.
    public static func != (left: Column, right: Value.Unwrapped?) -> Condition<Root> { !(left == right) }

    /// True where both columns hold the same value, or both none.
    public static func == <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.equal(left.node, right.node))
    }

    /// True where two columns hold different values, or one of them none.
    public static func != <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.not(.equal(left.node, right.node)))
    }
}

extension Column where Value.Unwrapped: OrderedAttributeValue {
    /// True where the value is there and smaller.
    public static func < (left: Column, right: Value.Unwrapped) -> Condition<Root> { left.compared(.less, right) }

    /// True where the value is there and not larger.
    public static func <= (left: Column, right: Value.Unwrapped) -> Condition<Root> {
        left.compared(.lessOrEqual, right)
    }

    /// True where the value is there and larger.
    public static func > (left: Column, right: Value.Unwrapped) -> Condition<Root> { left.compared(.greater, right) }

    /// True where the value is there and not smaller.
    public static func >= (left: Column, right: Value.Unwrapped) -> Condition<Root> {
        left.compared(.greaterOrEqual, right)
    }

    /// True where both values are there and the first is smaller.
    public static func < <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .less, right.node))
    }

    /// True where both values are there and the first is not larger.
    public static func <= <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .lessOrEqual, right.node))
    }

    /// True where both values are there and the first is larger.
    public static func > <Other: ColumnValue>(
        left: Column,
        right: Column<Root, Other>
    ) -> Condition<Root> where Other.Unwrapped == Value.Unwrapped {
        Condition(.compare(left.node, .greater, right.node))
    }

    /// True where both values are there and the first is not smaller.
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
