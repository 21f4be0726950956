import Foundation

/// Searches in SQL.
extension SQLWriter {
    /// A scope about the objects of a model that a pattern matches.
    ///
    /// - Parameter isRanked: whether each has a score, in ``SearchSQL/scoreColumn``.
    mutating func scope(of model: ModelSchema, matching pattern: SearchPattern, isRanked: Bool) throws -> SQLScope {
        let source = try sources.search(model)
        let (match, phrases) = try source.match(pattern)
        // What is searched is a part of the table that it stands for.
        let alias = table(.model(model)).alias
        let parameter = bind(.text(match))
        var score: String?
        if isRanked { score = bind(.blob(try source.statistics(phrases).encoded(source.index.weights))) }
        let columns = model.columns.map(\.name.quotedIdentifier)
        let text = source.parts
            .map {
                SearchSQL.select((columns, $0.rows), in: $0.table, where: parameter, score: score, unless: $0.hidden)
            }
            .joined(separator: " UNION ALL ")
        return SQLScope(model: model, alias: alias, from: "(\(text)) AS \(alias)")
    }

    /// Whether a pattern matches the object at the end of a path.
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

/// Where the objects of a model are searched at the moment when a query runs.
struct SearchSource {
    /// A table of FTS5 and that of its rows.
    struct Part {
        let table: String
        let rows: String
        /// The function that tells which of the rows are not to be seen; nil where all are.
        var hidden: String?
    }

    let index: SearchIndex
    let parts: [Part]
    /// Whether a text has any words.
    let hasWords: (String) throws -> Bool
    /// What there is to know about all rows together, and about those that match each of some phrases.
    let statistics: ([String]) throws -> SearchStatistics

    /// Of the rows in the store, where nobody asks for an answer.
    static func stored(_ model: ModelSchema) throws -> SearchSource {
        let index = try SearchIndex(model).orNotSearchable(model.name)
        return SearchSource(
            index: index,
            parts: [storedPart(model.table)],
            hasWords: { !$0.isEmpty },
            statistics: { SearchStatistics(rows: 0, words: 0, matches: $0.map { _ in 0 }) }
        )
    }

    static func storedPart(_ table: String) -> Part {
        Part(table: SearchSQL.table(of: table).quotedIdentifier, rows: table.quotedIdentifier)
    }

    /// A pattern as FTS5 reads it, and its phrases in the order in which they stand there. See "Full-text Query Syntax" in
    /// https://www.sqlite.org/fts5.html
    func match(_ pattern: SearchPattern, in column: String? = nil) throws -> (text: String, phrases: [String]) {
        var phrases: [String] = []
        guard let text = try text(pattern.node, &phrases) else { return ("\"\"", []) }
        return (column.map { "{\($0.quotedIdentifier)} : (\(text))" } ?? text, phrases)
    }

    /// Nil where a node has no words, and so matches nothing.
    private func text(_ node: SearchPattern.Node, _ phrases: inout [String]) throws -> String? {
        switch node {
        case .phrase(let text, let isPrefix):
            // A NUL would end the pattern.
            let phrase = text.replacing("\0", with: " ").quotedIdentifier + (isPrefix ? " *" : "")
            guard try hasWords(text) else { return nil }
            phrases.append(phrase)
            return phrase
        case .all(let nodes): return try joined(nodes, " ", &phrases)
        case .any(let nodes), .or(let nodes): return try joined(nodes, " OR ", &phrases)
        case .near(let texts, let distance):
            guard distance >= 0 else {
                throw StrataError(.invalidQuery, "near(…, within: \(distance)): the least distance is 0.")
            }
            return try joined(texts.map { .phrase($0, isPrefix: false) }, " ", &phrases)
                .map { "NEAR\($0.dropLast()), \(distance))" }
        case .and(let nodes):
            var (texts, found) = ([String](), [String]())
            for node in nodes {
                guard let text = try text(node, &found) else { return nil }
                texts.append(text)
            }
            phrases += found
            return "(\(texts.joined(separator: " AND ")))"
        case .not(let node, let other):
            guard let wanted = try text(node, &phrases) else { return nil }
            guard let excluded = try text(other, &phrases) else { return wanted }
            return "(\(wanted) NOT \(excluded))"
        }
    }

    private func joined(_ nodes: [SearchPattern.Node], _ sign: String, _ phrases: inout [String]) throws -> String? {
        var texts: [String] = []
        for node in nodes { if let text = try text(node, &phrases) { texts.append(text) } }
        return texts.isEmpty ? nil : "(\(texts.joined(separator: sign)))"
    }
}

extension Optional<SearchIndex> {
    func orNotSearchable(_ model: String) throws -> SearchIndex {
        guard let self else {
            throw StrataError(
                .invalidQuery,
                "\(model) has nothing to be searched. Mark attributes in the model: @Attribute(.searchable)."
            )
        }
        return self
    }
}
