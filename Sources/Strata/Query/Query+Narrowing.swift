extension Query {
    /// The objects that meet this condition as well.
    ///
    /// A condition is made of column expressions; one that the store cannot answer does not compile.
    public func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Query {
        let added = condition(Object.columns).node
        return changed { $0.condition = $0.condition.map { $0 && added } ?? added }
    }

    /// The objects that meet the condition so far or this one.
    ///
    /// On a query without a condition, just this one.
    public func or(_ condition: (Object.Columns) -> Condition<Object>) -> Query {
        let added = condition(Object.columns).node
        return changed { parts in
            parts.condition = parts.wholeCondition.map { $0 || added } ?? added
            parts.search = nil
        }
    }

    /// The objects that this query's condition or the other's asks for.
    ///
    /// Sorts, limit and offset are joined as by ``merging(_:)``. A query without a condition counts as not asking for
    /// anything here, so that the result has the condition of the other one.
    public func or(_ other: Query) -> Query {
        var query = joined(with: other)
        query._$parts.search = nil
        let conditions = [self, other].compactMap { $0._$parts.wholeCondition }
        query._$parts.condition = conditions.count == 2 ? conditions[0] || conditions[1] : conditions.first
        return query
    }

    /// The objects that both queries ask for.
    ///
    /// The result is as if the calls that made the other query followed here: its sorts decide where the sorts so far
    /// leave a choice, or replace them if they come from ``reordered(_:)-((Object.Columns)->SortKey<Object>)``. Its limit
    /// and offset, if it sets them, replace those so far.
    public func merging(_ other: Query) -> Query {
        var query = joined(with: other)
        if let added = other._$parts.condition {
            query._$parts.condition = _$parts.condition.map { $0 && added } ?? added
        }
        return other._$parts.search.map(query.search) ?? query
    }

    /// This query with everything that the other one sets but its conditions.
    private func joined(with other: Query) -> Query {
        let other = other._$parts
        return changed { parts in
            parts.sorts = other.isReordered ? other.sorts : parts.sorts + other.sorts
            parts.isReordered = parts.isReordered || other.isReordered
            parts.limit = other.limit ?? parts.limit
            parts.offset = other.offset ?? parts.offset
            parts.isDistinct = parts.isDistinct || other.isDistinct
            parts.membership = other.membership ?? parts.membership
            parts.prefetches.add(other.prefetches)
        }
    }
}

extension QueryParts {
    /// The condition, that to match what is searched for included.
    fileprivate var wholeCondition: ConditionNode? {
        guard let search else { return condition }
        let matches = ConditionNode.search(SearchNode(pattern: search))
        return condition.map { matches && $0 } ?? matches
    }
}
