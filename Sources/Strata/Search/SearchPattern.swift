/// The words that a search looks for.
///
/// A text by itself stands for all of its words, in any order. Nothing in a text has a meaning of its own, so that what a person
/// has typed can be handed in as it is:
///
/// ```swift
/// Article.search("swift concurrency")
/// Article.search(.typed(text))
/// Article.search(.phrase("data race").or("actor").excluding("draft"))
/// ```
///
/// Words are what the model's ``SearchTokenizer`` makes of a text: `name:smith` and `smith, name` are the same two words. With
/// ``SearchTokenizer/substrings`` they are what stands between spaces. A pattern without any words (the empty text, punctuation
/// alone) matches nothing.
public struct SearchPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    let node: Node

    indirect enum Node: Sendable, Hashable {
        case phrase(String, isPrefix: Bool)
        /// The words of a text.
        case all(String, Beginnings)
        case any(String)
        case near(String, within: Int)
        case and([Node])
        case or([Node])
        case not(Node, Node)
    }

    /// Which words of a text may be the beginnings of words.
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

    /// At least one of the words of a text.
    public static func anyWord(_ text: String) -> SearchPattern { SearchPattern(.any(text)) }

    /// All words of a text, of which the last one may be the beginning of a word: what to look for while somebody is typing.
    ///
    /// With ``SearchTokenizer/stems`` some beginnings find nothing: what is typed has its ending taken off as well (`universi`).
    public static func typed(_ text: String) -> SearchPattern { SearchPattern(.all(text, .last)) }

    /// Words that begin with the words of a text, all of them. As to stems, see ``typed(_:)``.
    public static func prefixes(_ text: String) -> SearchPattern { SearchPattern(.all(text, .all)) }

    /// The words of a text one after the other.
    public static func phrase(_ text: String) -> SearchPattern { SearchPattern(.phrase(text, isPrefix: false)) }

    /// All words of a text, in any order, with at most so many words between the first and the last of them, those of the text
    /// included.
    public static func near(_ text: String, within distance: Int) -> SearchPattern {
        SearchPattern(.near(text, within: distance))
    }

    /// What this and the other one match.
    public func and(_ other: SearchPattern) -> SearchPattern {
        if case .and(let nodes) = node { return SearchPattern(.and(nodes + [other.node])) }
        return SearchPattern(.and([node, other.node]))
    }

    /// What this or the other one matches.
    public func or(_ other: SearchPattern) -> SearchPattern {
        if case .or(let nodes) = node { return SearchPattern(.or(nodes + [other.node])) }
        return SearchPattern(.or([node, other.node]))
    }

    /// What this matches and the other one does not.
    public func excluding(_ other: SearchPattern) -> SearchPattern {
        guard case .not(let node, let excluded) = node else { return SearchPattern(.not(node, other.node)) }
        return SearchPattern(.not(node, SearchPattern(excluded).or(other).node))
    }
}
