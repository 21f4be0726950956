/// What the objects of a group come to, free of generic types.
struct AggregateNode: Sendable {
    enum Function: Sendable {
        case count
        case total(ResultShape.Aggregate)
    }

    let function: Function
    /// What is counted or summed up of each object; nil: the object itself.
    var argument: ExpressionNode?
    /// Whether each value of the argument counts once.
    var isDistinct = false
    /// About the objects that count; nil: all do.
    var condition: ConditionNode?
    /// What stands for the result where there is nothing to sum up.
    var ifNone: ValueNode?

    /// Whether the result may be NULL.
    var isOptional: Bool {
        if case .count = function { false } else { ifNone == nil }
    }

    var kind: ValueKind {
        guard case .total(let aggregate) = function, let kind = argument?.kind else { return .plain }
        // The average of unsigned integers is a floating-point number, that of decimals a decimal.
        if case .average = aggregate, case .unsigned = kind { return .plain }
        return kind
    }
}
