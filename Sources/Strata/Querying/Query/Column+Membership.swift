extension Column {
    /// True if the value is one of `values`. A nil among them matches objects without a value.
    ///
    /// Complexity: any number of values can be given. They are bound, never written into the SQL.
    public func `in`(_ values: some Sequence<Value.Unwrapped>) -> Condition<Root> {
        Condition(.member(node, of: values.map { ValueNode($0) }))
    }

    /// True if the value is one of `values`, or if the value is nil and `values` contains nil.
    @_disfavoredOverload
    public func `in`(_ values: some Sequence<Value.Unwrapped?>) -> Condition<Root> {
        let values = Array(values)
        let present = Condition<Root>(.member(node, of: values.compactMap { $0.map { ValueNode($0) } }))
        return values.contains { $0 == nil } ? Condition(.isNull(node)) || present : present
    }
}

extension Column where Value.Unwrapped: OrderedAttributeValue {
    /// True if the value is not nil and within the bounds, including both bounds.
    public func between(_ bounds: ClosedRange<Value.Unwrapped>) -> Condition<Root> {
        compared(.greaterOrEqual, bounds.lowerBound) && compared(.lessOrEqual, bounds.upperBound)
    }

    /// True if the value is not nil and within the bounds, excluding the upper bound.
    public func between(_ bounds: Range<Value.Unwrapped>) -> Condition<Root> {
        compared(.greaterOrEqual, bounds.lowerBound) && compared(.less, bounds.upperBound)
    }

    /// The same as ``between(_:)-(ClosedRange<Value.Unwrapped>)``. A range of integers is not expanded into its elements.
    public func `in`(_ bounds: ClosedRange<Value.Unwrapped>) -> Condition<Root> { between(bounds) }

    /// The same as ``between(_:)-(Range<Value.Unwrapped>)``.
    public func `in`(_ bounds: Range<Value.Unwrapped>) -> Condition<Root> { between(bounds) }
}
