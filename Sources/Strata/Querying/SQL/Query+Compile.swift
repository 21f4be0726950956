extension Query {
    /// Compiles this query to SQL that returns the given result shape.
    ///
    /// - Throws: ``StrataError/Code/invalidQuery`` for a query that no store can answer,
    ///   ``StrataError/Code/idOfOtherStore`` for an id of another store, and the errors of the resolver.
    func compile(_ shape: ResultShape, using sources: SQLSources) throws -> CompiledQuery {
        var select = try SelectBuilder(_$parts, model: Object._$schema, sources: sources, shape.ranking(_$parts))
        let sql = try select.sql(shape)
        return select.compiled(sql)
    }
}

/// Assembles the clauses of one query.
struct SelectBuilder {
    private(set) var parts: QueryParts
    var writer: SQLWriter
    var scope: SQLScope
    /// The WHERE clause.
    var filter: String
    /// The order of members if the query has no sorts.
    private(set) var memberOrder: [String] = []
    /// The SQL expression for the number of the object that a row is a member of.
    private var memberOwner = ""
    private var isReversed = false

    /// The purpose of match scores in a query.
    enum Ranking {
        case none
        /// Scores are needed for all matches, to sort by them or to return them.
        case all
        /// Scores are needed only to find the best matches, which no other condition narrows.
        case best(limit: Int)
    }

    init(_ parts: QueryParts, model: ModelSchema, sources: SQLSources, _ ranking: Ranking) throws {
        if let limit = parts.limit, limit < 0 {
            throw StrataError(.invalidQuery, "limit(\(limit)): a limit is 0 or more. Leave it out to get everything.")
        }
        if let offset = parts.offset, offset < 0 {
            throw StrataError(.invalidQuery, "offset(\(offset)): an offset is 0 or more.")
        }
        self.parts = parts
        writer = SQLWriter(sources: sources)
        if let pattern = parts.search {
            var (isRanked, slice) = (true, "")
            switch ranking {
            case .none: isRanked = false
            case .all: break
            case .best(let limit):
                slice = writer.slice(limit, parts.offset)
                self.parts.offset = nil
            }
            scope = try writer.scope(of: model, matching: pattern, isRanked: isRanked, slice: slice)
        } else {
            scope = writer.scope(of: model)
        }
        filter = ""
        if let membership = parts.membership { try restrict(to: membership) }
        if let condition = parts.condition {
            let isTerm = !filter.isEmpty
            let text = try writer.condition(condition, isTerm: isTerm, in: &scope)
            filter += (isTerm ? " AND " : " WHERE ") + text
        }
    }

    /// The generated SQL together with its bindings.
    func compiled(_ sql: String) -> CompiledQuery {
        CompiledQuery(
            sql: sql,
            bindings: writer.bindings,
            tables: writer.tables,
            isReversed: isReversed,
            isRaw: writer.isRaw
        )
    }

    private mutating func restrict(to membership: Membership) throws {
        let owner = membership.owner.type._$schema
        let numbers = membership.numbers.map { StoredValue.integer($0) }
        let isOwner = numbers.count == 1 ? "= \(writer.bind(numbers[0]))" : "IN (\(writer.list(numbers)))"
        switch try writer.sources.resolver.route(owner, membership.relationship) {
        case .foreignKey(let column, let order):
            memberOwner = "\(scope.alias).\(column.quotedIdentifier)"
            filter = " WHERE \(memberOwner) \(isOwner)"
            guard let order else { return }
            let (source, alias) = writer.table(.join(order))
            scope.from += " LEFT JOIN \(source) AS \(alias) ON \(alias).\"right\" = "
            scope.from += "\(scope.alias).\"id\" AND \(alias).\"left\" = \(memberOwner)"
            let place = "\(alias).\"left_place\""
            // Members without a place come last.
            memberOrder = ["(\(place) IS NULL)", place]
        case .joinTable(let name, let own, let other, let order):
            let (source, alias) = writer.table(.join(name))
            scope.from += " JOIN \(source) AS \(alias) ON \(alias).\(other.quotedIdentifier) = \(scope.alias).\"id\""
            memberOwner = "\(alias).\(own.quotedIdentifier)"
            filter = " WHERE \(memberOwner) \(isOwner)"
            memberOrder = order.map { ["\(alias).\($0.quotedIdentifier)"] } ?? []
        }
    }

    mutating func sql(_ shape: ResultShape) throws -> String {
        switch shape {
        case .objects: return try rows(columns, limit: parts.limit)
        case .members: return try rows("\(columns), \(memberOwner)", limit: parts.limit)
        case .matches:
            return try rows("\(columns), \(scope.alias).\"\(SearchSQL.scoreColumn)\"", limit: parts.limit)
        case .sections(let key): return try sections(key)
        case .ids: return try rows("\(scope.alias).\"id\"", limit: parts.limit)
        case .first(let count): return try rows(columns, limit: min(try checked(count), parts.limit ?? .max))
        case .last(let count): return try last(try checked(count))
        case .count:
            guard isSliced else { return "SELECT count(*)\(body)" }
            return "SELECT count(*) FROM (SELECT 1\(body)\(slice(parts.limit)))"
        case .exists: return "SELECT EXISTS (SELECT 1\(body)\(slice(parts.limit)))"
        case .values(let expression): return try values(expression)
        case .aggregate(let aggregate, let expression): return try self.aggregate(aggregate, expression)
        }
    }
}

/// A term of ORDER BY.
struct SortTerm {
    let text: String
    let isDescending: Bool
    /// Whether NULL comes first. If nil, SQLite's default applies: first when ascending and last when descending.
    var nilsFirst: Bool?
    /// Whether the value may be NULL.
    var isOptional = true

    var sql: String {
        let nils = nilsFirst.map { $0 ? " NULLS FIRST" : " NULLS LAST" } ?? ""
        return text + (isDescending ? " DESC" : "") + nils
    }
}

extension SelectBuilder {
    var isSliced: Bool { parts.limit != nil || parts.offset != nil }
    var body: String { " FROM \(scope.from)\(filter)" }

    var columns: String {
        var text = "\(scope.alias).\"id\""
        for column in scope.model.columns { text += ", \(scope.alias).\(column.name.quotedIdentifier)" }
        return text
    }

    private func checked(_ count: Int) throws -> Int {
        guard count >= 0 else {
            throw StrataError(.invalidQuery, "\(count) objects were requested. Request 0 or more.")
        }
        return count
    }

    private mutating func slice(_ limit: Int?) -> String { writer.slice(limit, parts.offset) }

    mutating func rows(_ list: String, limit: Int?) throws -> String {
        let order = try sortText()
        return "SELECT \(list)\(body) ORDER BY \(order)\(slice(limit))"
    }

    /// The rows followed by their keys, grouped by key.
    ///
    /// The key is the first sort term. If the query's first sort is by the key, it defines the direction.
    private mutating func sections(_ key: ExpressionNode) throws -> String {
        let isLeading = try parts.sorts.first.map { try isSame($0.expression, as: key) } ?? false
        let value = try writer.expression(key, in: &scope)
        var order = isLeading ? [] : [try writer.comparable(key, in: &scope)]
        order += try sortTerms().map(\.sql)
        return "SELECT \(columns), \(value)\(body) ORDER BY \(order.joined(separator: ", "))\(slice(parts.limit))"
    }

    /// Whether two expressions generate the same SQL with the same values.
    private func isSame(_ left: ExpressionNode, as right: ExpressionNode) throws -> Bool {
        func written(_ node: ExpressionNode) throws -> (text: String, values: [StoredValue]) {
            var (writer, scope) = (writer, scope)
            return (try writer.comparable(node, in: &scope), writer.bindings)
        }
        return try written(left) == written(right)
    }

    /// The terms of ORDER BY. The id is the last term, so the order is total.
    mutating func sortTerms(reversed: Bool = false) throws -> [SortTerm] {
        var terms: [SortTerm] = []
        if parts.sorts.isEmpty, parts.search != nil {
            terms = [SortTerm(text: "\(scope.alias).\"\(SearchSQL.scoreColumn)\"", isDescending: !reversed)]
        } else if parts.sorts.isEmpty {
            terms = memberOrder.map { SortTerm(text: $0, isDescending: reversed) }
        }
        for sort in parts.sorts { terms.append(try term(reversed ? sort.reversed : sort)) }
        terms.append(SortTerm(text: "\(scope.alias).\"id\"", isDescending: reversed, isOptional: false))
        return terms
    }

    private mutating func sortText(reversed: Bool = false) throws -> String {
        try sortTerms(reversed: reversed).map(\.sql).joined(separator: ", ")
    }

    /// A term of ORDER BY.
    mutating func term(_ sort: SortNode) throws -> SortTerm {
        SortTerm(
            text: try writer.comparable(sort.expression, in: &scope),
            isDescending: sort.isDescending,
            nilsFirst: sort.nilsFirst,
            isOptional: sort.expression.isOptional || mayBeNaN(sort.expression)
        )
    }

    /// Whether the value may be NaN, which SQLite reads as NULL. Calculations with infinite numbers may have this
    /// result. A column has this value in unsaved objects only: a save refuses it, and the table's column is NOT NULL.
    private func mayBeNaN(_ expression: ExpressionNode) -> Bool {
        switch expression {
        case .arithmetic: true
        case .column(let column):
            writer.sources.hasPendingRows(scope.model)
                && scope.model.columns.contains { $0.name == column.name && $0.type == .real }
        default: false
        }
    }

    /// Without a slice, the query uses the reverse order. With a slice, a subquery cuts the slice first, and the outer
    /// query takes its end.
    private mutating func last(_ count: Int) throws -> String {
        isReversed = true
        guard isSliced else {
            let order = try sortText(reversed: true)
            return "SELECT \(columns)\(body) ORDER BY \(order) LIMIT \(writer.bind(.integer(Int64(count))))"
        }
        let place = "row_number() OVER (ORDER BY \(try sortText())) AS strata_place"
        let names = (["id"] + scope.model.columns.map(\.name)).map { $0.quotedIdentifier }.joined(separator: ", ")
        let inner = "SELECT \(columns), \(place)\(body) ORDER BY strata_place\(slice(parts.limit))"
        return "SELECT \(names) FROM (\(inner)) ORDER BY strata_place DESC LIMIT \(writer.bind(.integer(Int64(count))))"
    }

    private mutating func values(_ expression: ExpressionNode) throws -> String {
        let value = try writer.expression(expression, in: &scope)
        guard parts.isDistinct else { return try rows(value, limit: parts.limit) }
        let order = try sortText()
        let inner = "SELECT \(value) AS value, row_number() OVER (ORDER BY \(order)) AS strata_place\(body)"
        let group = expression.kind == .decimal ? "value COLLATE strata_decimal" : "value"
        return "SELECT value FROM (\(inner)) GROUP BY \(group) ORDER BY min(strata_place)\(slice(parts.limit))"
    }

    private mutating func aggregate(
        _ aggregate: ResultShape.Aggregate,
        _ expression: ExpressionNode
    ) throws -> String {
        let function = aggregate.function(of: expression.kind)
        let collation = expression.kind == .decimal ? " COLLATE strata_decimal" : ""
        guard isSliced || parts.isDistinct else {
            let value = try writer.expression(expression, in: &scope)
            return "SELECT \(function)(\(value)\(collation))\(body)"
        }
        let inner = try rows(forAggregating: expression)
        return "SELECT \(function)(value\(collation)) FROM (\(inner))"
    }

    private mutating func rows(forAggregating expression: ExpressionNode) throws -> String {
        if parts.isDistinct { return try values(expression) }
        let value = try writer.expression(expression, in: &scope)
        return try rows("\(value) AS value", limit: parts.limit)
    }
}

extension SQLWriter {
    mutating func slice(_ limit: Int?, _ offset: Int?) -> String {
        guard limit != nil || offset != nil else { return "" }
        var text = " LIMIT " + (limit.map { bind(.integer(Int64($0))) } ?? "-1")
        if let offset { text += " OFFSET " + bind(.integer(Int64(offset))) }
        return text
    }
}

extension ResultShape {
    /// The purpose of match scores for this result shape.
    fileprivate func ranking(_ parts: QueryParts) -> SelectBuilder.Ranking {
        guard parts.sorts.isEmpty else {
            if case .matches = self { return .all }
            return .none
        }
        var limit = parts.limit
        switch self {
        case .count, .exists: return .none
        case .aggregate: return parts.limit != nil || parts.offset != nil || parts.isDistinct ? .all : .none
        case .members, .sections, .last: return .all
        case .values where parts.isDistinct: return .all
        case .first(let count): limit = min(max(0, count), parts.limit ?? .max)
        case .objects, .matches, .ids, .values: break
        }
        // Other conditions narrow the objects before the limit applies.
        guard let limit, parts.condition == nil, parts.membership == nil else { return .all }
        return .best(limit: limit)
    }
}
