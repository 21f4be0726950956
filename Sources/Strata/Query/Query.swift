/// A question to a context: which objects of a model, in which order, how many of them.
///
/// A query is a value. Each call gives a new one and leaves the old as it was; nothing is read until a context is asked:
///
/// ```swift
/// let fresh = Article.where { $0.publishedAt != nil && $0.title.contains("Hand") }
///     .sorted { $0.publishedAt.descending }
///     .limit(20)
/// let articles = try context.fetch(fresh)
/// ```
///
/// - **Narrowing**: ``where(_:)``, ``or(_:)-(Query<Object>)``, ``merging(_:)``
/// - **Sorting**: ``sorted(_:)-((Object.Columns)->SortKey<Object>)``, ``reordered(_:)-((Object.Columns)->SortKey<Object>)``
/// - **Cutting**: ``limit(_:)``, ``offset(_:)``, ``distinct()``
/// - **Reading relationships along**: ``with(_:)-((Object.Columns)->ToOne<Object,_>)``
/// - **Grouping**: ``grouped(by:)-((Object.Columns)->_)``
///
/// Named scopes are static members of the model that hold a query. They chain on every query of that model:
/// `Article.published.recent`. Scopes with arguments are methods in an extension of ``DerivableQuery``.
///
/// - Note: The order of calls does not matter to what they mean. `where` after `limit` filters first and limits what is
///   left, as a fetch request of Core Data does.
///
/// Every result is in a definite order: where the sorts leave a choice, or there are none, that of creation.
///
/// Throws: making a query never throws. What cannot be answered (a negative limit, NaN, a pattern that is no regular
/// expression, an object that was never inserted) is thrown by the call that runs it, as
/// ``StrataError/Code/invalidQuery``.
///
/// Isolation: a value, usable anywhere.
@dynamicMemberLookup
public struct Query<Object: Model>: Sendable, DerivableQuery {
    // A member with a plain name would hide the scope of that name.
    var _$parts: QueryParts

    init(_$parts: QueryParts = QueryParts()) { self._$parts = _$parts }

    /// This query narrowed by a named scope, a static member of the model: see ``merging(_:)``.
    public subscript(dynamicMember scope: KeyPath<Object.Type, Query<Object>>) -> Query<Object> {
        merging(Object.self[keyPath: scope])
    }

    /// Reports members of the model that are not scopes.
    @available(*, unavailable, message: "a scope with arguments is a method in an extension of DerivableQuery")
    public subscript<Value>(dynamicMember member: KeyPath<Object.Type, Value>) -> Value {
        Object.self[keyPath: member]
    }

    func changed(_ change: (inout QueryParts) -> Void) -> Query {
        var result = self
        change(&result._$parts)
        return result
    }
}

/// What a query consists of, free of generic types.
struct QueryParts: Sendable {
    var condition: ConditionNode?
    /// What is searched for; where there are no sorts, the best matches come first.
    var search: SearchPattern?
    var sorts: [SortNode] = []
    /// Whether the sorts take the place of those of a query that this one is merged into.
    var isReordered = false
    var limit: Int?
    var offset: Int?
    var isDistinct = false
    /// Where the query is about the members of one object's relationship.
    var membership: Membership?
    /// The relationships to be read along with objects.
    var prefetches: [PrefetchNode] = []
}

/// A to-many relationship of one object, or of several.
struct Membership: Sendable {
    let owner: ModelReference
    let relationship: String
    /// The numbers of the owners' ids; there is at least one.
    let numbers: [Int64]
}

extension Query {
    /// The members of a to-many relationship of the objects with these numbers, in the relationship's order if it has one.
    init(membersOf owner: any Model.Type, numbers: [Int64], relationship: String) {
        self.init(
            _$parts: QueryParts(
                membership: Membership(owner: ModelReference(owner), relationship: relationship, numbers: numbers)
            )
        )
    }
}

extension Model {
    /// All objects of the model, in the order of their ids.
    public static var all: Query<Self> { Query() }

    /// The objects that meet a condition: see ``Query/where(_:)``.
    public static func `where`(_ condition: (Columns) -> Condition<Self>) -> Query<Self> { Query().where(condition) }

    /// All objects in the order of one key.
    public static func sorted(_ key: (Columns) -> SortKey<Self>) -> Query<Self> { Query().sorted(key) }

    /// All objects in the order of one expression, from the smallest value to the largest.
    public static func sorted<Expression: SortExpression>(_ expression: (Columns) -> Expression) -> Query<Self>
    where Expression.Root == Self { Query().sorted(expression) }

    /// All objects in the order of several keys, the first of them first.
    public static func sorted(_ keys: (Columns) -> [SortKey<Self>]) -> Query<Self> { Query().sorted(keys) }
}
