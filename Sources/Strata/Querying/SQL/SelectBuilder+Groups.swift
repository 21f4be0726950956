extension GroupedParts {
    /// Compiles the SQL that returns the keys of each group, followed by the given values.
    ///
    /// - Throws: as ``Query/compile(_:using:)``.
    func compile(
        _ values: [ExpressionNode],
        model: ModelSchema,
        using sources: SQLSources
    ) throws -> CompiledQuery {
        for (name, count) in [("limit", limit), ("offset", offset)] {
            if let count, count < 0 {
                throw StrataError(.invalidQuery, "\(name)(\(count)) of groups: the least is 0.")
            }
        }
        // Match scores matter only if they decide which objects the limit and offset select for grouping.
        let isCutByRank = objects.sorts.isEmpty && (objects.limit != nil || objects.offset != nil)
        var select = try SelectBuilder(objects, model: model, sources: sources, isCutByRank ? .all : .none)
        let sql = try select.groups(self, values)
        return select.compiled(sql)
    }
}

extension SelectBuilder {
    fileprivate mutating func groups(_ groups: GroupedParts, _ values: [ExpressionNode]) throws -> String {
        try narrowToSlice()
        scope.countsValuesOnce = parts.isDistinct
        var columns: [String] = []
        for node in groups.keys + values { columns.append(try writer.expression(node, in: &scope)) }
        var keys: [String] = []
        for node in groups.keys { keys.append(try writer.comparable(node, in: &scope)) }
        var having = ""
        if let condition = groups.condition { having = " HAVING " + (try writer.condition(condition, in: &scope)) }
        var order: [String] = []
        for sort in groups.sorts { order.append(try term(sort).sql) }
        // The keys are the last terms, so the order is total.
        for node in groups.keys { order.append(try writer.comparable(node, in: &scope)) }
        var sql = "SELECT \(columns.joined(separator: ", "))\(body) GROUP BY \(keys.joined(separator: ", "))"
        sql += having + " ORDER BY " + order.joined(separator: ", ")
        return sql + writer.slice(groups.limit, groups.offset)
    }

    /// Restricts the statement to the objects within limit and offset.
    private mutating func narrowToSlice() throws {
        guard isSliced else { return }
        let objects = try rows("\(scope.alias).\"id\"", limit: parts.limit)
        scope = writer.scope(of: scope.model)
        filter = " WHERE \(scope.alias).\"id\" IN (\(objects))"
    }
}

extension SQLWriter {
    mutating func aggregate(_ node: AggregateNode, in scope: inout SQLScope) throws -> String {
        try nested { writer in
            var argument = "*"
            if let node = node.argument { argument = try writer.comparable(node, in: &scope) }
            let isDistinct = node.isDistinct || (scope.countsValuesOnce && node.argument != nil)
            let name =
                switch node.function {
                case .count: "count"
                case .total(let aggregate): aggregate.function(of: node.argument?.kind ?? .plain)
                }
            var text = "\(name)(\(isDistinct ? "DISTINCT " : "")\(argument))"
            if let condition = node.condition {
                text += " FILTER (WHERE \(try writer.condition(condition, in: &scope)))"
            }
            guard let value = node.ifNone else { return text }
            return "ifnull(\(text), \(try writer.bind(value)))"
        }
    }
}
