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

    /// Sorted by this column, from the smallest value to the largest, where the sorts so far leave a choice.
    public func sorted<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Query {
        sorted { column($0).ascending }
    }

    /// Sorted by this key instead of the sorts so far.
    public func reordered(_ key: (Object.Columns) -> SortKey<Object>) -> Query {
        changed { $0.sorts = [] }.sorted(key)
    }

    /// Sorted by this column, from the smallest value to the largest, instead of the sorts so far.
    public func reordered<Value: ColumnValue>(_ column: (Object.Columns) -> Column<Object, Value>) -> Query {
        reordered { column($0).ascending }
    }

    /// Sorted by these keys instead of the sorts so far. With none of them, in the order of their ids.
    public func reordered(_ keys: (Object.Columns) -> [SortKey<Object>]) -> Query {
        changed { $0.sorts = [] }.sorted(keys)
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
