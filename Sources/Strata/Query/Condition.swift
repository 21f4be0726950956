/// What a query asks of each object of a model: a term, or terms joined with `&&`, `||` and `!`.
///
/// Conditions are two-valued like `Bool`, also where values are nil: `!($0.rating > 3)` is true of an object without
/// rating, since `$0.rating > 3` is false of it.
///
/// A property of `Columns` that returns one gives a rule a name, usable across relationships as well:
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

    /// True of every object, or of none: where a condition is put together step by step.
    public init(_ value: Bool) { node = .constant(value) }

    /// True where both are.
    public static func && (left: Condition, right: Condition) -> Condition { Condition(left.node && right.node) }

    /// True where at least one is.
    public static func || (left: Condition, right: Condition) -> Condition { Condition(left.node || right.node) }

    /// True where the condition is not, also where that is so because a value is nil.
    public static prefix func ! (condition: Condition) -> Condition { Condition(!condition.node) }
}
