/// Collects the failures of a row. Passed to ``Model/validate(_:_:)``.
public struct Validation<Object: Model> {
    var details: [StrataError.Detail] = []
    let number: Int64

    /// Reports a failure of one column or relationship, named as in `\.title`, or of the whole object.
    ///
    /// A property of a related object, as in `\.author.name`, counts as the whole object.
    public mutating func fail(_ message: String, column: PartialKeyPath<Object.Columns>? = nil) {
        let column = column.flatMap { Object.columns[keyPath: $0] as? any PropertyExpression }
        details.append(
            StrataError.Detail(
                model: Object._$schema.name,
                id: number,
                column: column?._$property,
                message: message
            )
        )
    }

    /// Reports a failure unless the condition holds.
    public mutating func require(
        _ condition: Bool,
        _ message: String,
        column: PartialKeyPath<Object.Columns>? = nil
    ) {
        if !condition { fail(message, column: column) }
    }
}

/// An expression in `Columns` that may represent a property, or the id.
protocol PropertyExpression {
    /// The name of the property, or `id`; nil for a calculated expression and for a property of another object.
    var _$property: String? { get }
}
