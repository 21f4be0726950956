extension ObjectContext {
    /// The objects that a search finds, with how well each of them matches.
    ///
    /// ```swift
    /// for match in try context.matches(Article.search("swift").limit(20)) {
    ///     print(match.object.title, try match.snippet { $0.body }?.marked("[", "]") ?? "")
    /// }
    /// ```
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, also where the query searches for nothing; or if the store cannot be read.
    public func matches<Object: Model>(_ query: Query<Object>) throws -> [SearchMatch<Object>] {
        guard let pattern = query._$parts.search else {
            throw StrataError(.invalidQuery, "The query searches for nothing, so nothing matches. Add .search(…).")
        }
        let entity = try store.schema.index(of: Object.self)
        let score = Int32(Object._$schema.columns.count + 1)
        var matches: [SearchMatch<Object>] = []
        defer { if hasFetchHooks { runHooksAfterFetch() } }
        try run(query, .matches) { reader in
            let object: Object = try object(from: reader, entity: entity)
            matches.append(
                SearchMatch(object: object, score: try reader.read(Double.self, at: score), pattern: pattern)
            )
        }
        if !query._$parts.prefetches.isEmpty { try prefetch(query._$parts.prefetches, of: matches.map(\.object)) }
        return matches
    }

    /// A text of an object with where it matches.
    ///
    /// - Parameters:
    ///   - sql: the statement for a table of words and whether the pattern is looked for in it.
    ///   - options: what the statement wants beside the column, the marks and the id.
    func excerpt<Object: Model>(
        of object: Object,
        _ column: String,
        _ pattern: SearchPattern,
        _ sql: (_ found: String, _ isMatch: Bool) -> String,
        _ options: [StoredValue]
    ) throws -> SearchExcerpt? {
        publish()
        let info = try store.schema.entity(Object.self).info
        let connection = try currentView().reader.connection
        let source = try connection.searchSource(info)
        guard let place = source.index.description.columns.firstIndex(of: column) else {
            throw SearchNode.notSearchable(column, of: info.name)
        }
        let number = object._$row._$number
        let isPending = connection.overlay.rows(of: info.index).isHidden(number)
        guard let found = isPending ? source.parts.last : source.parts.first else { return nil }
        let marks = [SearchExcerpt.start, SearchExcerpt.end].map { StoredValue.text($0) }
        let values = [.integer(Int64(place))] + marks + options + [.integer(number)]
        // What does not match any more has its text all the same.
        let match = try source.match(pattern).text
        let marked =
            try connection.value(sql(found.table, true), values + [.text(match)])
            ?? connection.value(sql(found.table, false), values)
        guard case .text(let text) = marked else { return nil }
        return SearchExcerpt(marked: text)
    }
}
