/// The words that a search looks for.
///
/// A text by itself stands for all of its words, in any order. A text has no special characters, so a user's input can
/// be passed unchanged:
///
/// ```swift
/// Article.search("swift concurrency")
/// Article.search(.autocomplete(text))
/// Article.search(.phrase("data race").or("actor").excluding("draft"))
/// ```
///
/// The model's ``SearchTokenizer`` splits a text into words: `name:smith` and `smith, name` are the same two words.
/// With ``SearchTokenizer/substrings``, words are the parts between spaces. A pattern without any words, such as the
/// empty text or only punctuation, matches nothing.
public struct SearchPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    let node: Node

    indirect enum Node: Sendable, Hashable {
        case phrase(String, isPrefix: Bool)
        /// All words of a text.
        case all(String, Beginnings)
        case any(String)
        case near(String, within: Int)
        case and([Node])
        case or([Node])
        case not(Node, Node)
    }

    /// The words of a text that may be beginnings of words.
    enum Beginnings: Sendable, Hashable {
        case none
        case last
        case all
    }

    private init(_ node: Node) { self.node = node }

    /// All words of the literal: see ``words(_:)``.
    public init(stringLiteral value: String) { self = .words(value) }

    /// All words of a text, in any order and place.
    public static func words(_ text: String) -> SearchPattern { SearchPattern(.all(text, .none)) }

    /// At least one word of a text.
    public static func anyWord(_ text: String) -> SearchPattern { SearchPattern(.any(text)) }

    /// All words of a text. The last word may be the beginning of a word, so this pattern suits search while the user
    /// types.
    ///
    /// With ``SearchTokenizer/stems``, some beginnings find nothing, because their endings are also removed
    /// (`universi`).
    public static func autocomplete(_ text: String) -> SearchPattern { SearchPattern(.all(text, .last)) }

    /// Words that begin with the words of a text. All of them must occur. For stems, see ``autocomplete(_:)``.
    public static func prefixes(_ text: String) -> SearchPattern { SearchPattern(.all(text, .all)) }

    /// The words of a text in direct succession.
    public static func phrase(_ text: String) -> SearchPattern { SearchPattern(.phrase(text, isPrefix: false)) }

    /// All words of a text, in any order, close together.
    ///
    /// There are at most `distance` words between the first and the last of them, including the other words of the
    /// text.
    public static func near(_ text: String, within distance: Int) -> SearchPattern {
        SearchPattern(.near(text, within: distance))
    }

    /// Matches if both patterns match.
    public func and(_ other: SearchPattern) -> SearchPattern {
        if case .and(let nodes) = node { return SearchPattern(.and(nodes + [other.node])) }
        return SearchPattern(.and([node, other.node]))
    }

    /// Matches if at least one of the two patterns matches.
    public func or(_ other: SearchPattern) -> SearchPattern {
        if case .or(let nodes) = node { return SearchPattern(.or(nodes + [other.node])) }
        return SearchPattern(.or([node, other.node]))
    }

    /// Matches if this pattern matches and the other one does not.
    public func excluding(_ other: SearchPattern) -> SearchPattern {
        guard case .not(let node, let excluded) = node else { return SearchPattern(.not(node, other.node)) }
        return SearchPattern(.not(node, SearchPattern(excluded).or(other).node))
    }
}
