/// Handwritten SQL.
extension SQLWriter {
    /// A piece of a query about the object of a scope.
    mutating func raw(_ sql: SQL, in scope: inout SQLScope) throws -> String {
        isRaw = true
        return try nested { writer in
            var text = ""
            for fragment in sql.fragments {
                if case .expression(let node, let model) = fragment {
                    try Self.check(model, is: scope.model)
                    text += try writer.expression(node, in: &scope)
                } else {
                    text += try writer.raw(fragment)
                }
            }
            return text
        }
    }

    /// A whole statement, in which an expression is replaced by the name of its column.
    mutating func statement(_ sql: SQL) throws -> String {
        isRaw = true
        var text = ""
        for fragment in sql.fragments {
            if case .expression(let node, _) = fragment {
                text += try Self.name(of: node).quotedIdentifier
            } else {
                text += try raw(fragment)
            }
        }
        return text
    }

    private mutating func raw(_ fragment: SQL.Fragment) throws -> String {
        switch fragment {
        case .text(let text): return text
        case .value(let value): return try bind(value)
        case .list(let values):
            guard !values.isEmpty else { return "()" }
            return "(\(list(try values.map { try stored($0) })))"
        case .table(let model):
            // The source is always a subquery, so that the surrounding SQL is valid with and without unsaved changes.
            let schema = model.type._$schema
            try sources.resolver.checkOpened(model.type)
            let source = table(.model(schema)).source
            if source.hasBytePrefix("(") { return source }
            let columns = (["id"] + schema.columns.map(\.name)).map(\.quotedIdentifier).joined(separator: ", ")
            return "(SELECT \(columns) FROM \(source))"
        case .members(let members, let model): return try pairs(of: members, model)
        case .expression: return ""
        }
    }

    private mutating func pairs(of members: MembersNode, _ model: ModelReference) throws -> String {
        guard members.path.hops.isEmpty else {
            throw StrataError(
                .invalidQuery,
                "SQL can name relationships of a model itself, not those of related objects. Write a JOIN for them."
            )
        }
        let (owner, member, source): (String, String, String)
        switch try sources.resolver.route(model.type._$schema, members.relationship) {
        case .foreignKey(let column, _):
            (owner, member) = (column.quotedIdentifier, "\"id\"")
            source = table(.model(members.destination.type._$schema)).source
        case .joinTable(let name, let ownColumn, let otherColumn, _):
            (owner, member) = (ownColumn.quotedIdentifier, otherColumn.quotedIdentifier)
            source = table(.join(name)).source
        }
        return "(SELECT \(owner) AS \"owner\", \(member) AS \"member\" FROM \(source) WHERE \(owner) IS NOT NULL)"
    }

    private static func check(_ model: ModelReference?, is expected: ModelSchema) throws {
        guard let name = model?.type._$schema.name, name != expected.name else { return }
        throw StrataError(
            .invalidQuery,
            "The SQL names a column of \(name) in a place for a column of \(expected.name). Take the column from $0."
        )
    }

    private static func name(of node: ExpressionNode) throws -> String {
        switch node {
        case .column(let column) where column.path.hops.isEmpty: return column.name
        case .id(let path) where path.hops.isEmpty: return "id"
        case .id(let path) where path.hops.count == 1 && !path.hops[0].isDerived: return path.hops[0].name
        default:
            throw StrataError(
                .invalidQuery,
                "An SQL statement can name columns of its tables, not expressions over them. Write a JOIN."
            )
        }
    }
}

extension SQL {
    /// Compiles the statement with its bindings.
    ///
    /// - Throws: ``StrataError/Code/invalidQuery``, ``StrataError/Code/idOfOtherStore``.
    func compile(using sources: SQLSources) throws -> CompiledQuery {
        var writer = SQLWriter(sources: sources)
        let text = try writer.statement(self)
        return CompiledQuery(
            sql: text,
            bindings: writer.bindings,
            tables: writer.tables,
            isReversed: false,
            isRaw: true
        )
    }
}
