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
        return changed { $0.condition = $0.condition.map { $0 || added } ?? added }
    }

    /// The objects that this query's condition or the other's asks for.
    ///
    /// Limit, offset and sorts are the other's where it sets them. A query without a condition counts as not asking for
    /// anything here, so that the result has the condition of the other one.
    public func or(_ other: Query) -> Query {
        joined(with: other) { $0 || $1 }
    }

    /// The objects that both queries ask for.
    ///
    /// Limit, offset and sorts are the other's where it sets them, and otherwise this one's.
    public func merging(_ other: Query) -> Query {
        joined(with: other) { $0 && $1 }
    }

    private func joined(
        with other: Query,
        _ join: (ConditionNode, ConditionNode) -> ConditionNode
    ) -> Query {
        let other = other._$parts
        return changed { parts in
            if let added = other.condition { parts.condition = parts.condition.map { join($0, added) } ?? added }
            if !other.sorts.isEmpty { parts.sorts = other.sorts }
            parts.limit = other.limit ?? parts.limit
            parts.offset = other.offset ?? parts.offset
            parts.isDistinct = parts.isDistinct || other.isDistinct
            parts.membership = other.membership ?? parts.membership
            parts.prefetches.add(other.prefetches)
        }
    }
}
