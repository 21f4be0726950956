/// A condition of a query on each object of a model: a term, or terms joined with `&&`, `||` and `!`.
///
/// Conditions are two-valued like `Bool`, even if values are nil. For an object without a rating, `$0.rating > 3` is
/// false, so `!($0.rating > 3)` is true.
///
/// A property of `Columns` that returns a condition gives a rule a name. The rule also works across relationships:
///
/// ```swift
/// extension Article.Columns {
///     var isFresh: Condition<Article> { publishedAt > Date.now.addingTimeInterval(-86_400) }
/// }
/// Comment.where { $0.article.isFresh }
/// ```
public struct Condition<Root>: Sendable {
    let node: ConditionNode

    init(_ node: ConditionNode) { self.node = node }

    /// A condition that is true for every object, or for no object. Use it as the start when you build a condition step
    /// by step.
    public init(_ value: Bool) { node = .constant(value) }

    /// True if both conditions are true.
    public static func && (left: Condition, right: Condition) -> Condition { Condition(left.node && right.node) }

    /// True if at least one condition is true.
    public static func || (left: Condition, right: Condition) -> Condition { Condition(left.node || right.node) }

    /// True if the condition is false, even if it is false because a value is nil.
    public static prefix func ! (condition: Condition) -> Condition { Condition(!condition.node) }
}
