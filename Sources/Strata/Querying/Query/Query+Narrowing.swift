extension Query {
    /// The objects of this query that also meet a condition.
    ///
    /// A condition consists of column expressions. A condition that the store cannot evaluate does not compile.
    public func `where`(_ condition: (Object.Columns) -> Condition<Object>) -> Query {
        let added = condition(Object.columns).node
        return changed { $0.condition = $0.condition.map { $0 && added } ?? added }
    }

    /// The objects that meet this query's condition or the given one.
    ///
    /// If this query has no condition, the result has only the given one.
    public func or(_ condition: (Object.Columns) -> Condition<Object>) -> Query {
        let added = condition(Object.columns).node
        return changed { parts in
            parts.condition = parts.wholeCondition.map { $0 || added } ?? added
            parts.search = nil
        }
    }

    /// The objects that meet this query's condition or the other query's condition.
    ///
    /// Sorts, limit and offset are combined as by ``merging(_:)``. If one of the queries has no condition, the result
    /// has the condition of the other one.
    public func or(_ other: Query) -> Query {
        var query = joined(with: other)
        query._$parts.search = nil
        let conditions = [self, other].compactMap { $0._$parts.wholeCondition }
        query._$parts.condition = conditions.count == 2 ? conditions[0] || conditions[1] : conditions.first
        return query
    }

    /// The objects that both queries select.
    ///
    /// The result is the same as if the calls that created the other query followed here. The sorts of the other query
    /// decide if the previous sorts leave a choice. If its sorts come from
    /// ``reordered(_:)-((Object.Columns)->SortKey<Object>)``, they replace the previous sorts. Its limit and offset, if
    /// set, replace the previous ones.
    public func merging(_ other: Query) -> Query {
        var query = joined(with: other)
        if let added = other._$parts.condition {
            query._$parts.condition = _$parts.condition.map { $0 && added } ?? added
        }
        return other._$parts.search.map(query.search) ?? query
    }

    /// This query with all settings of the other query except its conditions.
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
    /// The condition, including the condition that objects match the search.
    fileprivate var wholeCondition: ConditionNode? {
        guard let search else { return condition }
        let matches = ConditionNode.search(SearchNode(pattern: search))
        return condition.map { matches && $0 } ?? matches
    }
}
