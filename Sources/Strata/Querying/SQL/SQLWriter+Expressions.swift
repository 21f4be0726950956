extension SQLWriter {
    mutating func expression(_ node: ExpressionNode, in scope: inout SQLScope) throws -> String {
        switch node {
        case .column(let column):
            return try alias(column.path, in: &scope) + "." + column.name.quotedIdentifier
        case .id(let path):
            return try id(path, in: &scope)
        case .value(let value):
            return try bind(value)
        case .function(let name, let arguments):
            return try nested { writer in
                var texts: [String] = []
                for argument in arguments { texts.append(try writer.expression(argument, in: &scope)) }
                return "\(name)(\(texts.joined(separator: ", ")))"
            }
        case .arithmetic(let sign, let left, let right):
            return try nested { writer in
                let left = try writer.expression(left, in: &scope)
                return "(\(left) \(sign) \(try writer.expression(right, in: &scope)))"
            }
        case .count(let members):
            return "(SELECT count(*) \(try rows(of: members, in: &scope)))"
        case .aggregate(let aggregate):
            return try self.aggregate(aggregate, in: &scope)
        case .sql(let sql, _):
            return "(\(try raw(sql, in: &scope)))"
        }
    }

    /// The expression with the collation that compares its values.
    mutating func comparable(_ node: ExpressionNode, in scope: inout SQLScope) throws -> String {
        let text = try expression(node, in: &scope)
        return node.kind == .decimal ? text + " COLLATE strata_decimal" : text
    }

    /// The clauses `FROM … WHERE …` for the members that meet the node's condition.
    mutating func rows(of members: MembersNode, in scope: inout SQLScope) throws -> String {
        var (inner, link) = try self.members(members, in: &scope)
        if let condition = members.condition {
            link += " AND " + (try self.condition(condition, isTerm: true, in: &inner))
        }
        return "FROM \(inner.from) WHERE \(link)"
    }
}
