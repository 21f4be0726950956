/// Collects the failures of a row. Passed to ``Model/validate(_:_:)``.
public struct Validation<Object: Model> {
    var details: [StrataError.Detail] = []
    let number: Int64

    /// Reports a failure of one column or relationship, named as in `\.title`, or of the whole object.
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

/// An expression in `Columns` that may represent a property.
private protocol PropertyExpression {
    /// The name of the property; nil for a calculated expression and for a property of another object.
    var _$property: String? { get }
}

extension Column: PropertyExpression {
    fileprivate var _$property: String? { node.property }
}

extension ExternalColumn: PropertyExpression {
    fileprivate var _$property: String? { node.property }
}

extension TransformedColumn: PropertyExpression {
    fileprivate var _$property: String? { node.property }
}

extension ToOne: PropertyExpression {
    fileprivate var _$property: String? { _$path.hops.count == 1 ? _$path.hops[0].name : nil }
}

extension RelationshipExpression: PropertyExpression {
    fileprivate var _$property: String? { members.path.hops.isEmpty ? members.relationship : nil }
}

extension ExpressionNode {
    fileprivate var property: String? {
        if case .column(let column) = self, column.path.hops.isEmpty { column.name } else { nil }
    }
}
