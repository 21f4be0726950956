/// A query for objects of a model, with conditions, an order and a limit.
///
/// A query is a value. Each call returns a new query and leaves the old one unchanged. Nothing is read until a context
/// runs the query:
///
/// ```swift
/// let fresh = Article.where { $0.publishedAt != nil && $0.title.contains("Hand") }
///     .sorted { $0.publishedAt.descending }
///     .limit(20)
/// let articles = try context.fetch(fresh)
/// ```
///
/// - **Narrowing**: ``where(_:)-((Object.Columns)->Condition<Object>)``, ``or(_:)-(Query<Object>)``, ``merging(_:)``
/// - **Sorting**: ``sorted(_:)-((Object.Columns)->SortKey<Object>)``,
///   ``reordered(_:)-((Object.Columns)->SortKey<Object>)``
/// - **Limiting**: ``limit(_:)``, ``offset(_:)``, ``distinct()``
/// - **Prefetching relationships**: ``including(_:)-((Object.Columns)->ToOne<Object,Destination>)``
/// - **Grouping**: ``grouped(by:)->GroupedQuery<Object,Key.Value,Key.KeyColumn>``
///
/// Named scopes are static members of the model that hold a query. They chain on every query of that model:
/// `Article.published.recent`. Scopes with arguments are methods in an extension of ``DerivableQuery``.
///
/// - Note: The order of the calls does not change their meaning. `where` after `limit` filters first and limits the
///   remaining objects, as a fetch request of Core Data does.
///
/// Every result has a definite order. If there are no sorts, or the sorts leave a choice, objects are sorted in the
/// order of creation.
///
/// Throws: creating a query never throws. Some queries cannot be answered: those with a negative limit, NaN, an invalid
/// regular expression, or an object that was never inserted. The call that runs such a query throws
/// ``StrataError/Code/invalidQuery``.
///
/// Isolation: a value, usable anywhere.
@dynamicMemberLookup
public struct Query<Object: Model>: Sendable, DerivableQuery {
    // A member with a plain name would hide a scope with the same name.
    var _$parts: QueryParts

    init(_$parts: QueryParts = QueryParts()) { self._$parts = _$parts }

    /// This query narrowed by a named scope, which is a static member of the model: see ``merging(_:)``.
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

/// The components of a query, without generic types.
struct QueryParts: Sendable {
    var condition: ConditionNode?
    /// The search pattern. If there are no sorts, the best matches come first.
    var search: SearchPattern?
    var sorts: [SortNode] = []
    /// Whether the sorts replace the sorts of a query into which this one is merged.
    var isReordered = false
    var limit: Int?
    var offset: Int?
    var isDistinct = false
    /// The relationship whose members the query covers; nil if the query covers all objects of the model.
    var membership: Membership?
    /// The relationships to read together with the objects.
    var prefetches: [PrefetchNode] = []
}

/// A to-many relationship of one object, or of several.
struct Membership: Sendable {
    let owner: ModelReference
    let relationship: String
    /// The numbers of the owners' ids. There is at least one.
    let numbers: [Int64]
}

extension Query {
    /// The members of a to-many relationship of the objects with these numbers, in the relationship's order if it has
    /// one.
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

    /// The objects that meet a condition: see ``Query/where(_:)-((Object.Columns)->Condition<Object>)``.
    public static func `where`(_ condition: (Columns) -> Condition<Self>) -> Query<Self> { Query().where(condition) }

    /// All objects, sorted by one key.
    public static func sorted(_ key: (Columns) -> SortKey<Self>) -> Query<Self> { Query().sorted(key) }

    /// All objects, sorted by one expression, from the smallest value to the largest.
    public static func sorted<Expression: SortExpression>(_ expression: (Columns) -> Expression) -> Query<Self>
    where Expression.Root == Self { Query().sorted(expression) }

    /// All objects, sorted by several keys, the first key first.
    public static func sorted(_ keys: (Columns) -> [SortKey<Self>]) -> Query<Self> { Query().sorted(keys) }
}
