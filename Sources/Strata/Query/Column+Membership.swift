extension Column {
    /// True where the value is one of these. A nil among them stands for objects without a value.
    ///
    /// Complexity: any number of values may be given; they are bound, never written into the SQL.
    public func `in`(_ values: some Sequence<Value.Unwrapped>) -> Condition<Root> {
        Condition(.member(node, of: values.map { ValueNode($0) }))
    }

    /// True where the value is one of these, or where it is nil and nil is one of them.
    @_disfavoredOverload
    public func `in`(_ values: some Sequence<Value.Unwrapped?>) -> Condition<Root> {
        let values = Array(values)
        let present = Condition<Root>(.member(node, of: values.compactMap { $0.map { ValueNode($0) } }))
        return values.contains { $0 == nil } ? Condition(.isNull(node)) || present : present
    }
}

extension Column where Value.Unwrapped: OrderedAttributeValue {
    /// True where the value is there and within the bounds, both included.
    public func between(_ bounds: ClosedRange<Value.Unwrapped>) -> Condition<Root> {
        compared(.greaterOrEqual, bounds.lowerBound) && compared(.lessOrEqual, bounds.upperBound)
    }

    /// True where the value is there and within the bounds, the upper one excluded.
    public func between(_ bounds: Range<Value.Unwrapped>) -> Condition<Root> {
        compared(.greaterOrEqual, bounds.lowerBound) && compared(.less, bounds.upperBound)
    }

    /// The same as ``between(_:)``. A range of integers is not taken apart into its elements.
    public func `in`(_ bounds: ClosedRange<Value.Unwrapped>) -> Condition<Root> { between(bounds) }

    /// The same as ``between(_:)``.
    public func `in`(_ bounds: Range<Value.Unwrapped>) -> Condition<Root> { between(bounds) }
}
