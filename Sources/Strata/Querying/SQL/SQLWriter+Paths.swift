extension SQLWriter {
    /// The id at the end of a path. If the last hop has a column in the preceding table, it does not need a join.
    mutating func id(_ path: RelationshipPath, in scope: inout SQLScope) throws -> String {
        guard let last = path.hops.last, !last.isDerived else { return try alias(path, in: &scope) + ".\"id\"" }
        let start = RelationshipPath(hops: path.hops.dropLast())
        return try alias(start, in: &scope) + "." + last.name.quotedIdentifier
    }

    /// The alias of the table at the end of a path. The table is joined at the first request.
    ///
    /// A to-one relationship adds no rows, so one LEFT JOIN serves all terms on the same path.
    mutating func alias(_ path: RelationshipPath, in scope: inout SQLScope) throws -> String {
        guard let last = path.hops.last else { return scope.alias }
        let key = path.hops.map(\.name)
        if let known = scope.joins[key] { return known }
        let destination = last.destination.type._$schema
        try sources.resolver.checkOpened(last.destination.type)
        let start = RelationshipPath(hops: path.hops.dropLast())
        let condition: (String) -> String
        if last.isDerived {
            let column = try foreignKey(of: last, from: start, in: scope)
            let owner = try id(start, in: &scope)
            condition = { "\($0).\(column.quotedIdentifier) = \(owner)" }
        } else {
            let target = try id(path, in: &scope)
            condition = { "\($0).\"id\" = \(target)" }
        }
        let (source, alias) = table(.model(destination))
        scope.from += " LEFT JOIN \(source) AS \(alias) ON \(condition(alias))"
        scope.joins[key] = alias
        return alias
    }

    /// A scope for the members of a relationship, and the term that links them to their owner.
    mutating func members(
        _ members: MembersNode,
        in outer: inout SQLScope
    ) throws -> (scope: SQLScope, link: String) {
        let owner = try id(members.path, in: &outer)
        let model = members.path.hops.last?.destination.type._$schema ?? outer.model
        var scope = scope(of: members.destination.type._$schema)
        switch try sources.resolver.route(model, members.relationship) {
        case .foreignKey(let column, _):
            return (scope, "\(scope.alias).\(column.quotedIdentifier) = \(owner)")
        case .joinTable(let name, let ownColumn, let otherColumn, _):
            let (source, alias) = table(.join(name))
            scope.from +=
                " JOIN \(source) AS \(alias) ON \(alias).\(otherColumn.quotedIdentifier) = \(scope.alias).\"id\""
            return (scope, "\(alias).\(ownColumn.quotedIdentifier) = \(owner)")
        }
    }

    private func foreignKey(
        of hop: RelationshipPath.Hop,
        from start: RelationshipPath,
        in scope: SQLScope
    ) throws -> String {
        let model = start.hops.last?.destination.type._$schema ?? scope.model
        guard case .foreignKey(let column, _) = try sources.resolver.route(model, hop.name) else {
            throw StrataError(
                .invalidSchema,
                "The relationship '\(hop.name)' of \(model.name) is to-one, its inverse is to-many."
            )
        }
        return column
    }
}
