extension Query {
    /// Sorted by this key where the sorts so far leave a choice.
    public func sorted(_ key: (Object.Columns) -> SortKey<Object>) -> Query {
        let key = key(Object.columns).node
        return changed { $0.sorts.append(key) }
    }

    /// Sorted by these keys, the first of them first, where the sorts so far leave a choice.
    public func sorted(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Query {
        let keys = keys(Object.columns).map(\.node)
        return changed { $0.sorts += keys }
    }

    /// Sorted by this expression, from the smallest value to the largest, where the sorts so far leave a choice.
    public func sorted<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Query
    where Expression.Root == Object {
        sorted { expression($0)._$sortKey }
    }

    /// Sorted by this key instead of the sorts so far. In a scope, instead of the sorts of the query that it is chained on.
    public func reordered(_ key: (Object.Columns) -> SortKey<Object>) -> Query { withoutSorts.sorted(key) }

    /// Sorted by this expression, from the smallest value to the largest, instead of the sorts so far.
    public func reordered<Expression: SortExpression>(_ expression: (Object.Columns) -> Expression) -> Query
    where Expression.Root == Object { withoutSorts.sorted(expression) }

    /// Sorted by these keys instead of the sorts so far. With none of them, in the order of their ids.
    public func reordered(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Query { withoutSorts.sorted(keys) }

    private var withoutSorts: Query {
        changed {
            $0.sorts = []
            $0.isReordered = true
        }
    }

    /// At most so many objects. A later limit replaces an earlier one.
    ///
    /// Counts and sums respect it too. A negative one is reported when the query runs.
    public func limit(_ count: Int) -> Query { changed { $0.limit = count } }

    /// Without the first so many objects. A later offset replaces an earlier one.
    public func offset(_ count: Int) -> Query { changed { $0.offset = count } }

    /// Each value once, where a column is asked for or summed up: at the place where it first occurs, and before limit
    /// and offset count. Objects are distinct anyway.
    public func distinct() -> Query { changed { $0.isDistinct = true } }
}
