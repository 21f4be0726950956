/// A rule for values that a store can record, because it needs no code of the program.
enum DeclaredRule: Codable, Hashable, Sendable {
    /// The value must not be nil.
    case required
    /// The text must not be empty.
    case notEmpty
    /// The number of characters of a text.
    case length(from: Int, to: Int)
    /// The bounds of a number.
    case range(from: Double, to: Double)

    /// The option that declares the rule; nil if the bounds are not in order.
    var option: AttributeOption? {
        switch self {
        case .required: AttributeOption.required
        case .notEmpty: AttributeOption.notEmpty
        case .length(let lower, let upper): lower <= upper ? AttributeOption.length(lower...upper) : nil
        case .range(let lower, let upper): lower <= upper ? AttributeOption.range(lower...upper) : nil
        }
    }
}

extension AttributeOption {
    /// The rule of this option in a form that a store can record; nil for a check by a closure of the program, and for
    /// an option that is not a rule.
    var declaredRule: DeclaredRule? {
        switch kind {
        case .required: .required
        case .check(_, _, let rule, _): rule
        default: nil
        }
    }

    /// The message of a check by a closure of the program; nil for other options.
    var codeRule: String? {
        if case .check(let message, _, nil, _) = kind { message } else { nil }
    }
}
