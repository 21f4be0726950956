/// A request for one page of a query.
struct PageRequest: Sendable {
    let size: Int
    /// The position next to the page. If nil, the page is the first one, or the last one if `isForward` is false.
    let position: PageToken?
    /// Whether the page follows the position. Otherwise it precedes the position.
    let isForward: Bool
    /// Whether the elements of the page are ids. Then no other columns are read, except those of the order.
    var readsIDs = false
}

/// The statements that find one page.
struct CompiledPage {
    /// The rows of all statements, one statement after the other, begin at the position. If the page precedes the
    /// position, they are in reverse order.
    let statements: [CompiledQuery]
    /// The columns of each row that hold the values of a token.
    let tokenColumns: Range<Int32>
    /// The hash that identifies the query.
    let query: StableHash
}

extension Query {
    /// Compiles the statements that find one page and one more object, if there is one.
    ///
    /// - Parameters:
    ///   - request: the page.
    ///   - sources: the tables and views to read.
    ///   - tables: the committed tables. The SQL over them identifies the query.
    /// - Throws: ``StrataError/Code/invalidToken``, and the errors of ``compile(_:using:)``.
    func compile(_ request: PageRequest, using sources: SQLSources, tables: SQLSources) throws -> CompiledPage {
        guard (1..<Int.max).contains(request.size) else {
            throw StrataError(
                .invalidQuery,
                "A page cannot have \(request.size) elements. Request between 1 and \(Int.max - 1)."
            )
        }
        guard _$parts.limit == nil, _$parts.offset == nil else {
            throw StrataError(.invalidQuery, "A query with limit or offset does not have pages. Leave them out.")
        }
        guard _$parts.search == nil || !_$parts.sorts.isEmpty else {
            throw StrataError(
                .invalidQuery,
                "Scores of a search change with each commit, so they do not order pages. Add .sorted { … }."
            )
        }
        let query = try hash(tables)
        if let position = request.position, !position.isOf(query) { throw PageToken.invalidError }
        var select = try SelectBuilder(_$parts, model: Object._$schema, sources: sources, .none)
        let statements = try select.pages(request)
        let first = Int32(request.readsIDs ? 1 : Object._$schema.columns.count + 1)
        let count = Int32(_$parts.sorts.isEmpty ? select.memberOrder.count : _$parts.sorts.count) + 1
        return CompiledPage(statements: statements, tokenColumns: first..<(first + count), query: query)
    }

    /// A hash of the model, the conditions and the order, with their values. Unsaved changes do not affect it.
    private func hash(_ tables: SQLSources) throws -> StableHash {
        var tables = tables
        tables.hasSortedLists = true
        let compiled = try compile(.ids, using: tables)
        var bytes = Array(compiled.sql.utf8)
        for value in compiled.bindings { value.append(to: &bytes) }
        var hash = StableHash()
        hash.combine(bytes)
        return hash
    }
}

extension SelectBuilder {
    /// A range of the query's order, whose rows are found and sorted by one statement.
    private struct SortRange {
        /// Nil for all rows.
        var condition: String?
        var terms: [SortTerm]
    }

    /// The statements of a page. Each returns the id, or all columns of the model, followed by the sort values.
    mutating func pages(_ request: PageRequest) throws -> [CompiledQuery] {
        let terms = try sortTerms(reversed: !request.isForward)
        var ranges = [SortRange(terms: terms)]
        if let position = request.position {
            // A forged token may have any values.
            guard position.values.count == terms.count else { throw PageToken.invalidError }
            // The position after an object is also the end of a page that includes the object.
            ranges = self.ranges(terms, after: position, isInclusive: position.isAfter != request.isForward)
            if ranges.count > 1, !mayUseIndex {
                let all = ranges.compactMap(\.condition).joined(separator: " OR ")
                ranges = [SortRange(condition: "(\(all))", terms: terms)]
            }
        }
        let element = request.readsIDs ? "\(scope.alias).\"id\"" : columns
        let list = ([element] + terms.map(\.text)).joined(separator: ", ")
        let limit = writer.bind(.integer(Int64(request.size) + 1))
        return ranges.map { range in
            let order = range.terms.map(\.sql).joined(separator: ", ")
            let body = "FROM \(scope.from)\(filter(adding: range.condition))"
            return compiled("SELECT \(list) \(body) ORDER BY \(order) LIMIT \(limit)")
        }
    }

    /// The rows after a position as ranges, in the order of the query.
    ///
    /// The rows of the first range have all sort values of the position and a later id. The rows of each following
    /// range share one value less with the position, and the next value is later. NULL forms a separate range. So each
    /// condition compares some columns for equality and one more for inequality. SQLite finds such a range in an index
    /// and reads no other rows. With a row value, as in `(a, id) > (?, ?)`, or with `OR`, it would read all rows with
    /// the position's value of `a`.
    private mutating func ranges(
        _ terms: [SortTerm],
        after position: PageToken,
        isInclusive: Bool
    ) -> [SortRange] {
        var values: [String?] = []
        for value in position.values { values.append(value == .null ? nil : writer.bind(value)) }
        var ranges: [SortRange] = []
        for index in terms.indices.reversed() {
            let shared = zip(terms, values).prefix(index).map { $0.equal($1) }
            // Within the range, the term is never NULL or always NULL.
            var rest = Array(terms[index...])
            rest[0].nilsFirst = nil
            let isLast = index == terms.count - 1
            for bound in terms[index].bounds(after: values[index], isInclusive: isLast && isInclusive) {
                ranges.append(SortRange(condition: (shared + [bound]).joined(separator: " AND "), terms: rest))
            }
        }
        return ranges
    }

    /// Whether an index may contain the rows in their order. Otherwise each statement would read all rows, so that one
    /// statement for all ranges costs less.
    private var mayUseIndex: Bool {
        guard parts.search == nil else { return false }
        switch parts.sorts.first?.expression {
        case nil: return memberOrder.isEmpty
        case .column(let column)?: return column.path.hops.isEmpty && column.kind != .decimal
        case .id(let path)?: return path.hops.isEmpty || (path.hops.count == 1 && !path.hops[0].isDerived)
        default: return false
        }
    }

    private func filter(adding condition: String?) -> String {
        guard let condition else { return filter }
        guard !filter.isEmpty else { return " WHERE \(condition)" }
        return " WHERE (\(filter.dropFirst(" WHERE ".count))) AND \(condition)"
    }
}

extension SortTerm {
    /// The condition for one value. `value` is a parameter; nil for NULL.
    fileprivate func equal(_ value: String?) -> String { value.map { "\(text) = \($0)" } ?? "\(text) IS NULL" }

    /// The conditions for the values that follow one value, in their order.
    fileprivate func bounds(after value: String?, isInclusive: Bool) -> [String] {
        let areNilsFirst = nilsFirst ?? !isDescending
        guard let value else { return areNilsFirst ? ["\(text) IS NOT NULL"] : [] }
        let sign = (isDescending ? "<" : ">") + (isInclusive ? "=" : "")
        return ["\(text) \(sign) \(value)"] + (isOptional && !areNilsFirst ? ["\(text) IS NULL"] : [])
    }
}
