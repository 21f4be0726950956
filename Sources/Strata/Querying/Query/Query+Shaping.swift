extension Query {
    /// Sorted by this key if the previous sorts leave a choice.
    public func sorted(_ key: (Object.Columns) -> SortKey<Object>) -> Query {
        let key = key(Object.columns).node
        return changed { $0.sorts.append(key) }
    }

    /// Sorted by these keys, the first key first, if the previous sorts leave a choice.
    public func sorted(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Query {
        let keys = keys(Object.columns).map(\.node)
        return changed { $0.sorts += keys }
    }

    /// Sorted by this expression, from the smallest value to the largest, if the previous sorts leave a choice.
    public func sorted<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Query
    where Expression.Root == Object {
        sorted { expression($0)._$sortKey }
    }

    /// Sorted by this key instead of the previous sorts.
    ///
    /// In a scope, the key replaces the sorts of the query on which the scope is chained.
    public func reordered(_ key: (Object.Columns) -> SortKey<Object>) -> Query { withoutSorts.sorted(key) }

    /// Sorted by this expression, from the smallest value to the largest, instead of the previous sorts.
    public func reordered<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Query
    where Expression.Root == Object { withoutSorts.sorted(expression) }

    /// Sorted by these keys instead of the previous sorts. Without keys, sorted by the objects' ids.
    public func reordered(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Query { withoutSorts.sorted(keys) }

    private var withoutSorts: Query {
        changed {
            $0.sorts = []
            $0.isReordered = true
        }
    }

    /// At most `count` objects. A later limit replaces an earlier one.
    ///
    /// The limit also applies to counts and sums. A negative limit is reported when the query runs.
    public func limit(_ count: Int) -> Query { changed { $0.limit = count } }

    /// Without the first `count` objects. A later offset replaces an earlier one.
    public func offset(_ count: Int) -> Query { changed { $0.offset = count } }

    /// Returns or sums each distinct value of a column once.
    ///
    /// A value keeps the place of its first occurrence. Duplicates are removed before limit and offset apply. Objects
    /// are always distinct.
    public func distinct() -> Query { changed { $0.isDistinct = true } }
}
