/// A question about groups of objects that have something in common. Made by ``Query/grouped(by:)-((Object.Columns)->_)``.
///
/// ```swift
/// let busy = Article.published.grouped { $0.author }.having { $0.count > 3 }.sorted { $0.count.descending }
/// for (author, (count, views)) in try context.groups(busy, { ($0.count, $0.sum(\.views)) }) { … }
/// ```
///
/// A query is a value. It is about the objects of the query that it was made of, its limit and offset counted in; with
/// ``Query/distinct()``, equal values count once in sums and averages.
///
/// Groups are in a definite order: where the sorts leave a choice, or there are none, that of the keys from the smallest
/// to the largest, nil first.
///
/// Isolation: a value, usable anywhere.
public struct GroupedQuery<Object: Model, Key: Sendable, KeyColumns: Sendable>: Sendable {
    var parts: GroupedParts
    let columns: GroupColumns<Object, KeyColumns>
    let readKey: @Sendable (RowReader) throws -> Key

    /// The groups that meet this condition as well.
    public func having(
        _ condition: (GroupColumns<Object, KeyColumns>) -> Condition<Grouped<Object>>
    ) -> GroupedQuery {
        let added = condition(columns).node
        return changed { $0.condition = $0.condition.map { $0 && added } ?? added }
    }

    /// Sorted by this key where the sorts so far leave a choice.
    public func sorted(_ key: (GroupColumns<Object, KeyColumns>) -> SortKey<Grouped<Object>>) -> GroupedQuery {
        let key = key(columns).node
        return changed { $0.sorts.append(key) }
    }

    /// Sorted by this expression, from the smallest value to the largest, where the sorts so far leave a choice.
    public func sorted<Expression: SortExpression>(
        _ expression: (GroupColumns<Object, KeyColumns>) -> Expression
    ) -> GroupedQuery where Expression.Root == Grouped<Object> {
        sorted { expression($0)._$sortKey }
    }

    /// Sorted by these keys, the first of them first, where the sorts so far leave a choice.
    public func sorted(_ keys: (GroupColumns<Object, KeyColumns>) -> [SortKey<Grouped<Object>>]) -> GroupedQuery {
        let keys = keys(columns).map(\.node)
        return changed { $0.sorts += keys }
    }

    /// At most so many groups. A later limit replaces an earlier one.
    public func limit(_ count: Int) -> GroupedQuery { changed { $0.limit = count } }

    /// Without the first so many groups. A later offset replaces an earlier one.
    public func offset(_ count: Int) -> GroupedQuery { changed { $0.offset = count } }

    private func changed(_ change: (inout GroupedParts) -> Void) -> GroupedQuery {
        var result = self
        change(&result.parts)
        return result
    }
}

/// What a grouped query consists of, free of generic types.
struct GroupedParts: Sendable {
    /// Which objects are grouped.
    let objects: QueryParts
    let keys: [ExpressionNode]
    var condition: ConditionNode?
    var sorts: [SortNode] = []
    var limit: Int?
    var offset: Int?
}

extension Query {
    /// The objects in groups with the same value.
    public func grouped<Key: GroupKey>(
        by key: (Object.Columns) -> Key
    ) -> GroupedQuery<Object, Key.Value, Key.KeyColumn> where Key.Root == Object {
        let key = key(Object.columns)._$key
        return GroupedQuery(
            parts: GroupedParts(objects: _$parts, keys: [key.node]),
            columns: GroupColumns(key: key.column),
            readKey: { try key.read($0, 0) }
        )
    }

    /// The objects in groups with the same two values.
    public func grouped<First: GroupKey, Second: GroupKey>(
        by keys: (Object.Columns) -> (First, Second)
    ) -> GroupedQuery<Object, (First.Value, Second.Value), (First.KeyColumn, Second.KeyColumn)>
    where First.Root == Object, Second.Root == Object {
        let keys = keys(Object.columns)
        let (first, second) = (keys.0._$key, keys.1._$key)
        return GroupedQuery(
            parts: GroupedParts(objects: _$parts, keys: [first.node, second.node]),
            columns: GroupColumns(key: (first.column, second.column)),
            readKey: { (try first.read($0, 0), try second.read($0, 1)) }
        )
    }

    /// The objects in groups with the same three values.
    public func grouped<First: GroupKey, Second: GroupKey, Third: GroupKey>(
        by keys: (Object.Columns) -> (First, Second, Third)
    ) -> GroupedQuery<
        Object, (First.Value, Second.Value, Third.Value), (First.KeyColumn, Second.KeyColumn, Third.KeyColumn)
    >
    where First.Root == Object, Second.Root == Object, Third.Root == Object {
        let keys = keys(Object.columns)
        let (first, second, third) = (keys.0._$key, keys.1._$key, keys.2._$key)
        return GroupedQuery(
            parts: GroupedParts(objects: _$parts, keys: [first.node, second.node, third.node]),
            columns: GroupColumns(key: (first.column, second.column, third.column)),
            readKey: { (try first.read($0, 0), try second.read($0, 1), try third.read($0, 2)) }
        )
    }
}

extension Model {
    /// All objects in groups with the same value.
    public static func grouped<Key: GroupKey>(
        by key: (Columns) -> Key
    ) -> GroupedQuery<Self, Key.Value, Key.KeyColumn> where Key.Root == Self {
        all.grouped(by: key)
    }

    /// All objects in groups with the same two values.
    public static func grouped<First: GroupKey, Second: GroupKey>(
        by keys: (Columns) -> (First, Second)
    ) -> GroupedQuery<Self, (First.Value, Second.Value), (First.KeyColumn, Second.KeyColumn)>
    where First.Root == Self, Second.Root == Self {
        all.grouped(by: keys)
    }

    /// All objects in groups with the same three values.
    public static func grouped<First: GroupKey, Second: GroupKey, Third: GroupKey>(
        by keys: (Columns) -> (First, Second, Third)
    ) -> GroupedQuery<
        Self, (First.Value, Second.Value, Third.Value), (First.KeyColumn, Second.KeyColumn, Third.KeyColumn)
    >
    where First.Root == Self, Second.Root == Self, Third.Root == Self {
        all.grouped(by: keys)
    }
}
