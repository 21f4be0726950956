import Foundation

/// An object that a search has found, with its score. ``ObjectContext/matches(_:)`` creates matches.
///
/// Isolation: like its object, a match must stay in its context's block.
public struct SearchMatch<Object: Model> {
    /// The object that was found.
    public let object: Object
    /// The quality of the match: a higher score is better. Scores are comparable only among the results of one query.
    public let score: Double
    let pattern: SearchPattern

    /// The whole text of a searchable attribute, as the context shows it now, with its matches. Nil if the attribute is
    /// nil.
    ///
    /// ```swift
    /// let title = try match.highlights { $0.title }?.highlighted("<b>", "</b>")
    /// ```
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` for an attribute that is not searchable, `contextInvalidated`, or
    ///   if the store cannot be read.
    public func highlights<Value: TextColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> SearchExcerpt? {
        try excerpt(column, words: nil)
    }

    /// The part of a searchable attribute that matches best, as the context shows it now. Nil if the attribute is nil.
    ///
    /// The best part has the most different phrases of the pattern. Among equal parts, the one with the most matches is
    /// chosen, then the first one.
    ///
    /// - Parameters:
    ///   - words: the number of words to show, 1 to 64. With ``SearchTokenizer/substrings``, the number of characters
    ///     minus two.
    ///   - column: the attribute.
    /// - Throws: as ``highlights(_:)``.
    public func snippet<Value: TextColumnValue>(
        words: Int = 16,
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> SearchExcerpt? {
        guard (1...64).contains(words) else {
            throw StrataError(.invalidQuery, "snippet(words: \(words)): a snippet has 1 to 64 words.")
        }
        return try excerpt(column, words: words)
    }

    private func excerpt<Value: TextColumnValue>(
        _ column: (Object.Columns) -> Column<Object, Value>,
        words: Int?
    ) throws -> SearchExcerpt? {
        guard case .column(let column) = column(Object.columns).node, column.path.hops.isEmpty else {
            throw StrataError(.invalidQuery, "Excerpts are of attributes of \(Object.self) itself.")
        }
        guard let context = object.context else { throw ObjectContext.endedError }
        return try context.excerpt(of: object, column.name, pattern, words: words)
    }
}

/// A text, or a part of a text, with its matches.
public struct SearchExcerpt: Sendable, Hashable {
    /// The text that is shown, without any markers.
    public let text: String
    /// The ranges that match, in the order of the text.
    public let matches: [Range<String.Index>]
    /// Whether the attribute's text continues before this part.
    public let isTruncatedAtStart: Bool
    /// Whether the attribute's text continues after this part.
    public let isTruncatedAtEnd: Bool

    /// A fragment of the text that matches entirely, or not at all.
    public struct Fragment: Sendable, Hashable {
        /// A part of the excerpt's text.
        public let text: Substring
        /// Whether the fragment matches.
        public let isMatch: Bool
    }

    /// The text, split into matching fragments and the fragments between them. None of the fragments is empty.
    public var fragments: [Fragment] {
        var fragments: [Fragment] = []
        var end = text.startIndex
        for match in matches {
            if end < match.lowerBound { fragments.append(Fragment(text: text[end..<match.lowerBound], isMatch: false)) }
            if !match.isEmpty { fragments.append(Fragment(text: text[match], isMatch: true)) }
            end = match.upperBound
        }
        if end < text.endIndex { fragments.append(Fragment(text: text[end...], isMatch: false)) }
        return fragments
    }

    /// The text with markers around matches, and with an ellipsis at each end that is truncated.
    ///
    /// Nothing is escaped. For HTML, for example, escape the text of each of the ``fragments`` instead.
    public func highlighted(_ start: String, _ end: String, ellipsis: String = "…") -> String {
        let text = fragments.map { $0.isMatch ? start + $0.text + end : String($0.text) }.joined()
        return (isTruncatedAtStart ? ellipsis : "") + text + (isTruncatedAtEnd ? ellipsis : "")
    }
}

/// The position of a pattern's phrase among the words of a text.
struct SearchHit {
    let phrase: Int
    let first: Int
    let count: Int

    /// Decodes the result of `strata_hits`.
    static func decode(_ data: Data) -> [SearchHit] {
        let numbers = data.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count - 3, by: 4).map {
                Int(bytes.loadUnaligned(fromByteOffset: $0, as: Int32.self))
            }
        }
        return stride(from: 0, to: numbers.count - 2, by: 3).map {
            SearchHit(phrase: numbers[$0], first: numbers[$0 + 1], count: numbers[$0 + 2])
        }
    }
}

extension SearchExcerpt {
    /// - Parameters:
    ///   - words: the ranges of the text's words, in bytes.
    ///   - hits: the positions of matches among the words.
    ///   - limit: the number of words to show; nil for the whole text.
    init(of text: String, _ words: [Range<Int>], _ hits: [SearchHit], limit: Int?) {
        let hits = hits.filter { $0.first >= 0 && $0.count > 0 && $0.first + $0.count <= words.count }
            .sorted { ($0.first, $0.count) < ($1.first, $1.count) }
        let shown = Self.window(hits, of: words.count, limit: limit)
        isTruncatedAtStart = shown.lowerBound > 0
        isTruncatedAtEnd = shown.upperBound < words.count
        let utf8 = text.utf8
        let start = isTruncatedAtStart ? words[shown.lowerBound].lowerBound : 0
        let end = isTruncatedAtEnd ? words[shown.upperBound - 1].upperBound : utf8.count
        let cut = utf8.index(utf8.startIndex, offsetBy: start)..<utf8.index(utf8.startIndex, offsetBy: end)
        self.text = String(text[cut])
        var ranges: [Range<Int>] = []
        for hit in hits where hit.first >= shown.lowerBound && hit.first + hit.count <= shown.upperBound {
            let range = (words[hit.first].lowerBound - start)..<(words[hit.first + hit.count - 1].upperBound - start)
            if let last = ranges.last, range.lowerBound < last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
        let own = self.text.utf8
        matches = ranges.map {
            own.index(own.startIndex, offsetBy: $0.lowerBound)..<own.index(own.startIndex, offsetBy: $0.upperBound)
        }
    }

    /// The range of words to show: the words with the most different phrases, then the most hits, with surrounding
    /// words.
    private static func window(_ hits: [SearchHit], of count: Int, limit: Int?) -> Range<Int> {
        guard let limit, limit < count else { return 0..<count }
        var best = (score: 0, words: 0..<0)
        for (index, hit) in hits.enumerated() {
            var (phrases, score, last) = (Set<Int>(), 0, hit.first)
            for other in hits[index...] {
                if other.first >= hit.first + limit { break }
                guard other.first + other.count <= hit.first + limit else { continue }
                score += phrases.insert(other.phrase).inserted ? 1000 : 1
                last = max(last, other.first + other.count)
            }
            if score > best.score { best = (score, hit.first..<last) }
        }
        // If the first words contain all hits of the best range, they are shown, because a beginning is easier to read
        // than a middle.
        guard best.words.upperBound > limit else { return 0..<limit }
        let around = (limit - best.words.count) / 2
        let start = min(max(0, best.words.lowerBound - around), count - limit)
        return start..<(start + limit)
    }
}
