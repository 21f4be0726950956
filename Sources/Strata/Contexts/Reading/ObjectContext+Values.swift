extension ObjectContext {
    /// The values of one column, in the order of the query. With `distinct()`, each value once.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, or if the store cannot be read.
    public func column<Object: Model, Value: AttributeValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) throws -> [Value] {
        var values: [Value] = []
        try run(query, .values(Object.columns[keyPath: column].node)) { values.append(try $0.read(Value.self, at: 0)) }
        return values
    }

    /// The values of one optional column, in the order of the query. With `distinct()`, each value once.
    public func column<Object: Model, Value: AttributeValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value?>>
    ) throws -> [Value?] {
        var values: [Value?] = []
        try run(query, .values(Object.columns[keyPath: column].node)) { values.append(try $0.read(Value?.self, at: 0)) }
        return values
    }

    /// The sum of a column; zero if there are no values. Nil values do not count. Sums of the smaller integer types are
    /// `Int`; sums of `Float` are `Double`.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, also if the sum is too large for its type.
    public func sum<Object: Model, Value: ColumnValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) throws -> Value.Unwrapped.Sum where Value.Unwrapped: NumericAttributeValue {
        try aggregate(query, .sum, Object.columns[keyPath: column].node) ?? .zero
    }

    /// The average of a column; nil if there are no values. Nil values do not count.
    public func average<Object: Model, Value: ColumnValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) throws -> Value.Unwrapped.Average? where Value.Unwrapped: NumericAttributeValue {
        try aggregate(query, .average, Object.columns[keyPath: column].node)
    }

    /// The smallest value of a column; nil if there are no values.
    public func minimum<Object: Model, Value: ColumnValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) throws -> Value.Unwrapped? where Value.Unwrapped: OrderedAttributeValue {
        try aggregate(query, .minimum, Object.columns[keyPath: column].node)
    }

    /// The largest value of a column; nil if there are no values.
    public func maximum<Object: Model, Value: ColumnValue>(
        _ query: Query<Object>,
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) throws -> Value.Unwrapped? where Value.Unwrapped: OrderedAttributeValue {
        try aggregate(query, .maximum, Object.columns[keyPath: column].node)
    }

    private func aggregate<Object: Model, Result: AttributeValue>(
        _ query: Query<Object>,
        _ aggregate: ResultShape.Aggregate,
        _ node: ExpressionNode
    ) throws -> Result? {
        let value = try value(query, .aggregate(aggregate, node))
        guard value != .null else { return nil }
        guard let result = Result(storedValue: value) else {
            throw StrataError(
                .invalidQuery,
                "The result \(value) does not fit into \(Result.self). Ask for fewer objects."
            )
        }
        return result
    }
}
