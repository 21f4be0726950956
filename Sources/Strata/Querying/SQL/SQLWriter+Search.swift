import Foundation

/// Searches in SQL.
extension SQLWriter {
    /// A scope for the objects of a model that match a pattern.
    ///
    /// - Parameters:
    ///   - isRanked: whether each object has a score, in ``SearchSQL/scoreColumn``.
    ///   - slice: the LIMIT clause for the best matches; empty for all matches.
    mutating func scope(
        of model: ModelSchema,
        matching pattern: SearchPattern,
        isRanked: Bool,
        slice: String
    ) throws -> SQLScope {
        let source = try sources.search(model)
        let (match, phrases) = try source.match(pattern)
        // This call records the model's table as a dependency. The search source replaces the table in FROM.
        let alias = table(.model(model)).alias
        let parameter = bind(.text(match))
        var score: String?
        if isRanked { score = bind(.blob(try source.statistics(phrases).encoded(source.index.weights))) }
        let columns = (["id"] + model.columns.map(\.name)).map(\.quotedIdentifier)
        if slice.isEmpty {
            let text = source.parts.map { $0.select(columns, where: parameter, score: score) }
            return SQLScope(model: model, alias: alias, from: "(\(text.joined(separator: " UNION ALL "))) AS \(alias)")
        }
        // Only the rows of the best matches are read.
        let best = source.parts.map { $0.select([], where: parameter, score: score) }.joined(separator: " UNION ALL ")
        let text = SearchSQL.rows(source.parts.map { $0.rows(columns) }, best: best, slice: slice)
        return SQLScope(model: model, alias: alias, from: "(\(text)) AS \(alias)")
    }

    /// A condition that a pattern matches the object at the end of a path.
    mutating func search(_ node: SearchNode, in scope: inout SQLScope) throws -> String {
        let model = node.path.hops.last?.destination.type._$schema ?? scope.model
        let source = try sources.search(model)
        if let column = node.column, !source.index.description.columns.contains(column) {
            throw SearchNode.notSearchable(column, of: model.name)
        }
        let parameter = bind(.text(try source.match(node.pattern, in: node.column).text))
        let ids = source.parts.map { SearchSQL.selectIDs(in: $0.table, where: parameter, unless: $0.hidden) }
        let id = try alias(node.path, in: &scope) + ".\"id\""
        return "\(id) IN (\(ids.joined(separator: " UNION ALL ")))"
    }
}

/// The tables to search for objects of a model at the time when a query runs.
struct SearchSource {
    /// An FTS5 table and the table of its rows.
    struct Part {
        let table: String
        let rows: String
        /// The function that returns whether a row is hidden; nil if all rows are visible.
        var hidden: String?

        /// Selects the matching rows. Without columns, selects only ids and scores.
        func select(_ columns: [String], where match: String, score: String?) -> String {
            columns.isEmpty
                ? SearchSQL.selectScores(in: table, where: match, score: score, unless: hidden)
                : SearchSQL.select(columns, of: rows, in: table, where: match, score: score, unless: hidden)
        }

        /// Selects the rows of the best matches.
        func rows(_ columns: [String]) -> String { SearchSQL.selectBest(columns, of: rows, unless: hidden) }
    }

    /// A phrase as the pattern's text contains it.
    struct Phrase {
        let text: String
        /// Whether the phrase raises a row's score. False for an excluded phrase.
        let isWanted: Bool
    }

    let index: SearchIndex
    let parts: [Part]
    /// Splits a search text into its words.
    let words: (String) throws -> [String]
    /// Returns the statistics of all rows together, and of the rows that match each phrase.
    let statistics: ([Phrase]) throws -> SearchStatistics

    /// The source for the stored rows if no result is needed. It has no statistics and splits texts at whitespace.
    static func stored(_ model: ModelSchema) throws -> SearchSource {
        let index = try SearchIndex(model).orNotSearchable(model.name)
        return SearchSource(
            index: index,
            parts: [storedPart(model.table)],
            words: { $0.split(whereSeparator: \.isWhitespace).map(String.init) },
            statistics: { SearchStatistics(rows: 0, words: 0, matches: $0.map { _ in nil }) }
        )
    }

    static func storedPart(_ table: String) -> Part {
        Part(table: SearchSQL.table(of: table).quotedIdentifier, rows: table.quotedIdentifier)
    }

    /// A pattern in FTS5's syntax, and its phrases in the order of their occurrence.
    ///
    /// See "Full-text Query Syntax" in https://www.sqlite.org/fts5.html
    func match(_ pattern: SearchPattern, in column: String? = nil) throws -> (text: String, phrases: [Phrase]) {
        var writer = PatternWriter(words: words)
        guard let text = try writer.text(pattern.node) else { return ("\"\"", []) }
        return (column.map { "{\($0.quotedIdentifier)} : (\(text))" } ?? text, writer.phrases)
    }
}

/// Generates the FTS5 text of a pattern.
private struct PatternWriter {
    let words: (String) throws -> [String]
    var phrases: [SearchSource.Phrase] = []
    private var isWanted = true
    private var depth = 0

    init(words: @escaping (String) throws -> [String]) { self.words = words }

    /// Nil if a node has no words, and therefore matches nothing. Such a node does not add phrases either.
    mutating func text(_ node: SearchPattern.Node) throws -> String? {
        // FTS5's parser has room for a few hundred open parentheses.
        guard depth < 25 else {
            throw StrataError(
                .invalidQuery,
                "The pattern is nested more than 25 levels deep. Chains of one kind are flat."
            )
        }
        depth += 1
        defer { depth -= 1 }
        switch node {
        case .phrase(let text, let isPrefix):
            return try words(text).isEmpty ? nil : phrase(text, isPrefix: isPrefix)
        case .all(let text, let beginnings): return joined(try phrases(text, beginnings), " ")
        case .any(let text): return joined(try phrases(text), " OR ")
        case .or(let nodes): return joined(try nodes.compactMap { try self.text($0) }, " OR ")
        case .near(let text, let distance):
            guard distance >= 0 else {
                throw StrataError(.invalidQuery, "near(…, within: \(distance)): the least distance is 0.")
            }
            // No text has more words than this limit.
            return joined(try phrases(text), " ").map { "NEAR\($0.dropLast()), \(min(distance, 1_000_000_000)))" }
        case .and(let nodes):
            let (before, texts) = (phrases.count, try nodes.map { try text($0) })
            let found = texts.compactMap(\.self)
            guard found.count == nodes.count else {
                phrases.removeSubrange(before...)
                return nil
            }
            return "(\(found.joined(separator: " AND ")))"
        case .not(let node, let other):
            guard let wanted = try text(node) else { return nil }
            let outer = isWanted
            isWanted = false
            defer { isWanted = outer }
            guard let excluded = try text(other) else { return wanted }
            return "(\(wanted) NOT \(excluded))"
        }
    }

    /// The words of a text, each as a separate phrase.
    private mutating func phrases(_ text: String, _ beginnings: SearchPattern.Beginnings = .none) throws -> [String] {
        let words = try words(text)
        var texts: [String] = []
        for (index, word) in words.enumerated() {
            let isLast = index == words.count - 1
            texts.append(phrase(word, isPrefix: beginnings == .all || (beginnings == .last && isLast)))
        }
        return texts
    }

    private mutating func phrase(_ text: String, isPrefix: Bool) -> String {
        // A NUL would end the pattern.
        let phrase = text.replacing("\0", with: " ").quotedIdentifier + (isPrefix ? " *" : "")
        phrases.append(SearchSource.Phrase(text: phrase, isWanted: isWanted))
        return phrase
    }

    private func joined(_ texts: [String], _ sign: String) -> String? {
        texts.isEmpty ? nil : "(\(texts.joined(separator: sign)))"
    }
}

extension Optional<SearchIndex> {
    func orNotSearchable(_ model: String) throws -> SearchIndex {
        guard let self else {
            throw StrataError(
                .invalidQuery,
                "\(model) does not have searchable attributes. Mark attributes in the model: @Attribute(.searchable)."
            )
        }
        return self
    }
}
