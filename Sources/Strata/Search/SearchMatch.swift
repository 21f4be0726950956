/// An object that a search has found, with how well it matches. Made by ``ObjectContext/matches(_:)``.
///
/// Isolation: as its object, it stays in its context's block.
public struct SearchMatch<Object: Model> {
    /// What was found.
    public let object: Object
    /// How well it matches: the higher, the better. Comparable among the results of one query only.
    public let score: Double
    let pattern: SearchPattern

    /// The whole text of a searchable attribute, as the context shows it now, with where it matches. Nil where there is no text.
    ///
    /// ```swift
    /// let title = try match.highlights { $0.title }?.marked("<b>", "</b>")
    /// ```
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` for an attribute that is not searchable, `contextEnded`, or if the store cannot be
    ///   read.
    public func highlights<Value: TextColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> SearchExcerpt? {
        try excerpt(column, SearchSQL.highlight, [])
    }

    /// The words of a searchable attribute among which it matches best, as the context shows it now. Nil where there is no text.
    ///
    /// - Parameter words: how many words to show, 1 to 64.
    /// - Throws: as ``highlights(_:)``.
    public func snippet<Value: TextColumnValue>(
        words: Int = 16,
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> SearchExcerpt? {
        guard (1...64).contains(words) else {
            throw StrataError(.invalidQuery, "snippet(words: \(words)): a snippet has 1 to 64 words.")
        }
        return try excerpt(column, SearchSQL.snippet, [.text(SearchExcerpt.cut), .integer(Int64(words))])
    }

    private func excerpt<Value: TextColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>,
        _ sql: (_ found: String, _ isMatch: Bool) -> String,
        _ options: [StoredValue]
    ) throws -> SearchExcerpt? {
        guard case .column(let column) = column(Object.columns).node, column.path.hops.isEmpty else {
            throw StrataError(.invalidQuery, "Excerpts are of attributes of \(Object.self) itself.")
        }
        guard let context = object.context else { throw ObjectContext.endedError }
        return try context.excerpt(of: object, column.name, pattern, sql, options)
    }
}

/// A text, or a part of one, with the places where it matches a search.
public struct SearchExcerpt: Sendable, Hashable {
    /// What is shown, without any marks.
    public let text: String
    /// Where it matches, in the order of the text.
    public let matches: [Range<String.Index>]
    /// Whether there is more of the attribute's text before this.
    public let isCutAtStart: Bool
    /// Whether there is more of the attribute's text behind this.
    public let isCutAtEnd: Bool

    /// A piece of the text that matches as a whole, or not at all.
    public struct Piece: Sendable, Hashable {
        /// A part of the excerpt's text.
        public let text: Substring
        /// Whether it matches.
        public let isMatch: Bool
    }

    /// The text as pieces that match and pieces between them, none of them empty.
    public var pieces: [Piece] {
        var pieces: [Piece] = []
        var end = text.startIndex
        for match in matches {
            if end < match.lowerBound { pieces.append(Piece(text: text[end..<match.lowerBound], isMatch: false)) }
            if !match.isEmpty { pieces.append(Piece(text: text[match], isMatch: true)) }
            end = match.upperBound
        }
        if end < text.endIndex { pieces.append(Piece(text: text[end...], isMatch: false)) }
        return pieces
    }

    /// The text with marks around what matches, and an ellipsis where it is cut.
    ///
    /// Nothing is escaped. For HTML, say, escape the text of each of the ``pieces`` instead.
    public func marked(_ start: String, _ end: String, ellipsis: String = "…") -> String {
        let text = pieces.map { $0.isMatch ? start + $0.text + end : String($0.text) }.joined()
        return (isCutAtStart ? ellipsis : "") + text + (isCutAtEnd ? ellipsis : "")
    }
}

extension SearchExcerpt {
    // Unicode keeps these three for a program's own use: they stand in no text that is handed to another.
    static let start = text(of: 0xFDD0)
    static let end = text(of: 0xFDD1)
    static let cut = text(of: 0xFDD2)

    private static func text(of mark: UInt16) -> String { String(decoding: [mark], as: UTF16.self) }

    /// - Parameter marked: a text with these marks in it.
    init(marked: String) {
        var text = String.UnicodeScalarView()
        // Places are known in scalars first: while the text grows, what has been appended may change its characters.
        var places: [(start: Int, end: Int)] = []
        var (count, start) = (0, Int?.none)
        var scalars = marked.unicodeScalars[...]
        isCutAtStart = scalars.first?.value == 0xFDD2
        isCutAtEnd = scalars.count > 1 && scalars.last?.value == 0xFDD2
        if isCutAtStart { scalars.removeFirst() }
        if isCutAtEnd { scalars.removeLast() }
        for scalar in scalars {
            switch scalar.value {
            case 0xFDD0: start = count
            case 0xFDD1:
                if let start { places.append((start, count)) }
                start = nil
            default:
                text.append(scalar)
                count += 1
            }
        }
        self.text = String(text)
        var (index, position) = (self.text.unicodeScalars.startIndex, 0)
        var matches: [Range<String.Index>] = []
        for place in places {
            let first = text.index(index, offsetBy: place.start - position)
            index = text.index(first, offsetBy: place.end - place.start)
            position = place.end
            matches.append(first..<index)
        }
        self.matches = matches
    }
}
