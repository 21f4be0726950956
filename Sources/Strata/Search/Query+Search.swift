extension Query {
    /// The objects whose searchable attributes, taken together, match a pattern as well; the best matches first, unless the query is
    /// sorted.
    ///
    /// How well an object matches is said by BM25: words that few objects have count for more, and so do matches in short texts and
    /// in attributes with a weight (`@Attribute(.searchable(weight: 4))`). Unsaved objects are ranked among the others as they
    /// will be once they are saved.
    ///
    /// Asked for twice, both patterns have to match. In ``or(_:)-(Query<Object>)`` with another query there is no ranking.
    public func search(_ pattern: SearchPattern) -> Query {
        changed { $0.search = $0.search.map { $0.and(pattern) } ?? pattern }
    }

    /// The objects that have all words of a text, such as a person has typed: see ``SearchPattern/words(_:)``.
    public func search(_ text: String) -> Query { search(.words(text)) }
}

extension Model {
    /// The objects whose searchable attributes match a pattern, the best matches first: see
    /// ``Query/search(_:)-(SearchPattern)``.
    public static func search(_ pattern: SearchPattern) -> Query<Self> { Query().search(pattern) }

    /// The objects that have all words of a text, such as a person has typed: see ``SearchPattern/words(_:)``.
    public static func search(_ text: String) -> Query<Self> { search(.words(text)) }
}

extension Column where Value: TextColumnValue {
    /// True where this attribute, which must be searchable, matches a pattern.
    ///
    /// A condition among others, without a ranking. With unsaved changes of the model's objects, all of its objects are looked at
    /// when this is all that narrows a query; ``Query/search(_:)-(SearchPattern)`` looks at those that match only.
    public func search(_ pattern: SearchPattern) -> Condition<Root> {
        guard case .column(let column) = node else {
            return Condition(
                .invalid("search(…) of what is calculated from an attribute. Search the attribute itself.")
            )
        }
        return Condition(.search(SearchNode(path: column.path, column: column.name, pattern: pattern)))
    }

    /// True where this attribute, which must be searchable, has all words of a text: see ``SearchPattern/words(_:)``.
    public func search(_ text: String) -> Condition<Root> { search(.words(text)) }
}

/// A search for a pattern in one column, or in all, of the object at the end of a path.
struct SearchNode: Sendable {
    var path = RelationshipPath()
    var column: String?
    let pattern: SearchPattern

    /// The same about the object at the end of a path.
    func prefixed(by path: RelationshipPath) -> SearchNode {
        SearchNode(path: self.path.prefixed(by: path), column: column, pattern: pattern)
    }

    static func notSearchable(_ column: String, of model: String) -> StrataError {
        StrataError(
            .invalidQuery,
            "\(model).\(column) is not searchable. Mark it in the model: @Attribute(.searchable)."
        )
    }
}
