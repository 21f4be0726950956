extension SchemaDescription: CustomStringConvertible {
    /// The text that a store records and that reviews show.
    ///
    /// The text has a paragraph for each table and a line for each column, always in the same order.
    ///
    /// ```
    /// model Article
    ///     slug TEXT checked ("must not be empty")
    ///     published INTEGER of Bool
    ///     author INTEGER optional to Author
    ///     scan INTEGER optional external
    ///     unique (slug)
    ///     index (author)
    ///     index (author, slug) present scan
    ///     search (slug) words
    ///
    /// members Article.tags, Tag.articles
    /// ```
    package var description: String { tables.map(\.description).joined(separator: "\n") }
}

extension TableDescription: CustomStringConvertible {
    package var description: String {
        var lines: [String] = []
        switch content {
        case .members(let near, let far): return "members \(near.text), \(far.text)\n"
        case .places(let near, let far): return "places \(near.text), \(far.text)\n"
        case .model(let model): lines.append("model \(model.word)" + (model == name ? "" : " table \(name.word)"))
        }
        lines += columns.map { "    \($0.description)" }
        for (kind, sets) in [("unique", uniques), ("index", indexes)] {
            lines += sets.map { index in
                "    \(kind) (\(index.columns.map(\.word).joined(separator: ", ")))"
                    + (index.present.map { " present \($0.word)" } ?? "")
            }
        }
        if let search {
            let list = search.columns.map(\.word).joined(separator: ", ")
            let prefixes = search.prefixes.map { " \($0)" }.joined()
            lines.append("    search (\(list)) \(search.tokenizer.rawValue)\(prefixes)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ColumnDescription: CustomStringConvertible {
    package var description: String {
        var text = "\(name.word) \(type.rawValue)"
        if isOptional { text += " optional" }
        switch content {
        case .plain, .unknown: break
        case .decimal: text += " decimal"
        case .external: text += " external"
        case .reference(let table): text += " to \(table.word)"
        }
        if let valueType, valueType != usualType { text += " of \(valueType.word)" }
        if !rules.isEmpty { text += " checked (\(rules.map(\.quotedIdentifier).joined(separator: ", ")))" }
        return text
    }
}

extension PropertyPath {
    fileprivate var text: String { "\(table.word).\(property.word)" }
}

extension String {
    /// The text as one word of the description: in quotation marks unless it consists only of letters, digits and
    /// underscores.
    fileprivate var word: String {
        if isEmpty { return quotedIdentifier }
        // Most words are ASCII. To look up the properties of characters takes much longer.
        return utf8.allSatisfy(\.isASCIIWord) || allSatisfy(\.isPartOfWord) ? self : quotedIdentifier
    }
}

extension Character {
    /// Whether a name without quotation marks can contain the character.
    var isPartOfWord: Bool { self == "_" || isLetter || isNumber }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter, a digit or an underscore.
    fileprivate var isASCIIWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
