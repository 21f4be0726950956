extension Query {
    /// The objects of this query whose searchable attributes, taken together, match a pattern.
    ///
    /// The best matches come first, unless the query is sorted.
    ///
    /// BM25 ranks the matches: words that few objects have count for more. Matches in short texts and in attributes
    /// with a weight (`@Attribute(.searchable(weight: 4))`) also count for more. Unsaved objects are ranked among the
    /// others as they will be ranked once they are saved.
    ///
    /// If a query has two searches, both patterns must match. Combining searches with ``or(_:)-(Query<Object>)``
    /// removes the ranking.
    public func search(_ pattern: SearchPattern) -> Query {
        changed { $0.search = $0.search.map { $0.and(pattern) } ?? pattern }
    }

    /// The objects of this query that contain all words of a text, such as a user's input: see
    /// ``SearchPattern/words(_:)``.
    public func search(_ text: String) -> Query { search(.words(text)) }
}

extension Model {
    /// The objects whose searchable attributes match a pattern, the best matches first.
    ///
    /// See ``Query/search(_:)-(SearchPattern)``.
    public static func search(_ pattern: SearchPattern) -> Query<Self> { Query().search(pattern) }

    /// The objects that contain all words of a text, such as a user's input: see ``SearchPattern/words(_:)``.
    public static func search(_ text: String) -> Query<Self> { search(.words(text)) }
}

extension Column where Value: TextColumnValue {
    /// True if this attribute, which must be searchable, matches a pattern.
    ///
    /// This condition can be combined with others and does not rank the objects. If the model has unsaved changes and
    /// no other condition narrows the query, the query examines all objects of the model.
    /// ``Query/search(_:)-(SearchPattern)`` examines only matching objects.
    public func search(_ pattern: SearchPattern) -> Condition<Root> {
        guard case .column(let column) = node else {
            return Condition(
                .invalid("search(…) does not search expressions over an attribute. Search the attribute itself.")
            )
        }
        return Condition(.search(SearchNode(path: column.path, column: column.name, pattern: pattern)))
    }

    /// True if this attribute, which must be searchable, contains all words of a text: see ``SearchPattern/words(_:)``.
    public func search(_ text: String) -> Condition<Root> { search(.words(text)) }
}

/// A search for a pattern in one column, or in all columns, of the object at the end of a path.
struct SearchNode: Sendable {
    var path = RelationshipPath()
    var column: String?
    let pattern: SearchPattern

    /// The same search, applied to the object at the end of a path.
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
