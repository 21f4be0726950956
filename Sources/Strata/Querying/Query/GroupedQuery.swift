/// A query about groups of objects that have a value in common.
///
/// ``Query/grouped(by:)->GroupedQuery<Object,Key.Value,Key.KeyColumn>`` creates such a query.
///
/// ```swift
/// let busy = Article.published.grouped { $0.author }.having { $0.count > 3 }.sorted { $0.count.descending }
/// for (author, (count, views)) in try context.groups(busy, { ($0.count, $0.sum(\.views)) }) { … }
/// ```
///
/// A grouped query is a value. It covers the objects of the query from which it was created, after that query's limit
/// and offset. With ``Query/distinct()``, equal values count once in sums and averages.
///
/// Groups have a definite order. If there are no sorts, or the sorts leave a choice, groups are sorted by their keys
/// from the smallest to the largest, nil first.
///
/// Isolation: a value, usable anywhere.
public struct GroupedQuery<Object: Model, Key: Sendable, KeyColumns: Sendable>: Sendable {
    var parts: GroupedParts
    let columns: GroupColumns<Object, KeyColumns>
    let readKey: @Sendable (RowReader) throws -> Key

    /// The groups that also meet this condition.
    public func having(
        _ condition: (GroupColumns<Object, KeyColumns>) -> Condition<Grouped<Object>>
    ) -> GroupedQuery {
        let added = condition(columns).node
        return changed { $0.condition = $0.condition.map { $0 && added } ?? added }
    }

    /// Sorted by this key if the previous sorts leave a choice.
    public func sorted(_ key: (GroupColumns<Object, KeyColumns>) -> SortKey<Grouped<Object>>) -> GroupedQuery {
        let key = key(columns).node
        return changed { $0.sorts.append(key) }
    }

    /// Sorted by this expression, from the smallest value to the largest, if the previous sorts leave a choice.
    public func sorted<Expression: SortExpression>(
        _ expression: (GroupColumns<Object, KeyColumns>) -> Expression
    ) -> GroupedQuery where Expression.Root == Grouped<Object> {
        sorted { expression($0)._$sortKey }
    }

    /// Sorted by these keys, the first key first, if the previous sorts leave a choice.
    public func sorted(_ keys: (GroupColumns<Object, KeyColumns>) -> [SortKey<Grouped<Object>>]) -> GroupedQuery {
        let keys = keys(columns).map(\.node)
        return changed { $0.sorts += keys }
    }

    /// At most `count` groups. A later limit replaces an earlier one.
    public func limit(_ count: Int) -> GroupedQuery { changed { $0.limit = count } }

    /// Without the first `count` groups. A later offset replaces an earlier one.
    public func offset(_ count: Int) -> GroupedQuery { changed { $0.offset = count } }

    private func changed(_ change: (inout GroupedParts) -> Void) -> GroupedQuery {
        var result = self
        change(&result.parts)
        return result
    }
}

/// The components of a grouped query, without generic types.
struct GroupedParts: Sendable {
    /// The query whose objects are grouped.
    let objects: QueryParts
    let keys: [ExpressionNode]
    var condition: ConditionNode?
    var sorts: [SortNode] = []
    var limit: Int?
    var offset: Int?
}

extension Query {
    /// Groups the objects by one value.
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

    /// Groups the objects by two values.
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

    /// Groups the objects by three values.
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
    /// Groups all objects by one value.
    public static func grouped<Key: GroupKey>(
        by key: (Columns) -> Key
    ) -> GroupedQuery<Self, Key.Value, Key.KeyColumn> where Key.Root == Self {
        all.grouped(by: key)
    }

    /// Groups all objects by two values.
    public static func grouped<First: GroupKey, Second: GroupKey>(
        by keys: (Columns) -> (First, Second)
    ) -> GroupedQuery<Self, (First.Value, Second.Value), (First.KeyColumn, Second.KeyColumn)>
    where First.Root == Self, Second.Root == Self {
        all.grouped(by: keys)
    }

    /// Groups all objects by three values.
    public static func grouped<First: GroupKey, Second: GroupKey, Third: GroupKey>(
        by keys: (Columns) -> (First, Second, Third)
    ) -> GroupedQuery<
        Self, (First.Value, Second.Value, Third.Value), (First.KeyColumn, Second.KeyColumn, Third.KeyColumn)
    >
    where First.Root == Self, Second.Root == Self, Third.Root == Self {
        all.grouped(by: keys)
    }
}
