extension ObjectContext {
    /// The objects that a search finds, each with its score.
    ///
    /// ```swift
    /// for match in try context.matches(Article.search("swift").limit(20)) {
    ///     print(match.object.title, try match.snippet { $0.body }?.marked("[", "]") ?? "")
    /// }
    /// ```
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, including for a query without a search pattern; or if the store
    ///   cannot be read.
    public func matches<Object: Model>(_ query: Query<Object>) throws -> [SearchMatch<Object>] {
        guard let pattern = query._$parts.search else {
            throw StrataError(.invalidQuery, "The query searches for nothing, so nothing matches. Add .search(…).")
        }
        let entity = try store.schema.index(of: Object.self)
        let score = Int32(Object._$schema.columns.count + 1)
        var matches: [SearchMatch<Object>] = []
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        try run(query, .matches) { reader in
            let object: Object = try object(from: reader, entity: entity)
            matches.append(
                SearchMatch(object: object, score: try reader.read(Double.self, at: score), pattern: pattern)
            )
        }
        if !query._$parts.prefetches.isEmpty { try prefetch(query._$parts.prefetches, of: matches.map(\.object)) }
        return matches
    }

    /// A text of an object together with its matches.
    ///
    /// - Parameter words: the number of words to show; nil for all words.
    func excerpt<Object: Model>(
        of object: Object,
        _ column: String,
        _ pattern: SearchPattern,
        words: Int?
    ) throws -> SearchExcerpt? {
        publish()
        let info = try store.schema.entity(Object.self).info
        let connection = try currentSnapshot().reader.connection
        let source = try connection.searchSource(info)
        guard let place = source.index.description.columns.firstIndex(of: column) else {
            throw SearchNode.notSearchable(column, of: info.name)
        }
        let number = object.storedID
        let isPending = connection.overlay.rows(of: info.index).isHidden(number)
        guard let found = (isPending ? source.parts.last : source.parts.first)?.table else { return nil }
        let match = try source.match(pattern)
        var row = try connection.row(
            SearchSQL.selectText(column, place, in: found, isMatch: true),
            [.integer(number), .text(match.text)]
        )
        // The text is also returned if the object does not match any more.
        if row.isEmpty {
            row = try connection.row(SearchSQL.selectText(column, place, in: found, isMatch: false), [.integer(number)])
        }
        guard case .text(let text) = row.first else { return nil }
        var hits: [SearchHit] = []
        if case .blob(let data) = row.last {
            hits = SearchHit.decode(data).filter {
                match.phrases.indices.contains($0.phrase) && match.phrases[$0.phrase].isWanted
            }
        }
        let tokenizer = try connection.search.tokenizer(source.index.description.tokenizer, on: connection)
        return SearchExcerpt(of: text, try tokenizer.words(of: text), hits, limit: words)
    }
}
