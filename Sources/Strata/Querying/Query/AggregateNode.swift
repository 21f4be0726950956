/// An aggregate over the objects of a group, without generic types.
struct AggregateNode: Sendable {
    enum Function: Sendable {
        case count
        case total(ResultShape.Aggregate)
    }

    let function: Function
    /// The expression that is counted or totalled for each object; nil for the object itself.
    var argument: ExpressionNode?
    /// Whether each distinct value of the argument counts once.
    var isDistinct = false
    /// A condition that an object must meet to be included; nil to include all objects.
    var condition: ConditionNode?
    /// The result if there are no values to total.
    var ifNone: ValueNode?

    /// Whether the result may be NULL.
    var isOptional: Bool {
        if case .count = function { false } else { ifNone == nil }
    }

    var kind: ValueKind {
        guard case .total(let aggregate) = function, let kind = argument?.kind else { return .plain }
        // The average of unsigned integers is a floating-point number. The average of decimals is a decimal.
        if case .average = aggregate, case .unsigned = kind { return .plain }
        return kind
    }
}
