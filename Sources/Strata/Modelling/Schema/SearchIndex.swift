/// The searchable columns of a model, and how they are searched.
struct SearchIndex: Sendable {
    /// The part of the index that the store records.
    let description: SearchDescription
    /// The index of each searchable column in the model.
    let columns: [Int]
    /// The weight of a match in each searchable column.
    let weights: [Double]

    /// Nil if no column is searchable.
    ///
    /// - Throws: ``StrataError`` with `invalidSchema`.
    init?(_ schema: ModelSchema) throws {
        var found: [(name: String, column: Int, weight: Double)] = []
        for (index, column) in schema.columns.enumerated() {
            for case .searchable(let weight) in column.options.map(\.kind) {
                try Self.check(column, weight, of: schema)
                found.append((column.name, index, weight))
            }
        }
        var choice: (tokenizer: SearchTokenizer, prefixes: [Int])?
        for case .search(let tokenizer, let prefixes) in schema.options.map(\.kind) { choice = (tokenizer, prefixes) }
        if let choice {
            guard !found.isEmpty else {
                throw Self.error(
                    "\(schema.name) has search options, but no searchable attribute. Mark attributes: "
                        + "@Attribute(.searchable)."
                )
            }
            guard choice.prefixes.allSatisfy({ (1...999).contains($0) }) else {
                throw Self.error("\(schema.name) has invalid prefix lengths. Prefix lengths are 1 to 999.")
            }
        }
        guard !found.isEmpty else { return nil }
        // Columns are sorted by name, so that reordering declarations does not change any store.
        found.sort { $0.name < $1.name }
        description = SearchDescription(
            columns: found.map(\.name),
            tokenizer: choice?.tokenizer ?? .words,
            prefixes: Set(choice?.prefixes ?? []).sorted()
        )
        columns = found.map(\.column)
        weights = found.map(\.weight)
    }

    private static func check(_ column: ColumnSchema, _ weight: Double, of schema: ModelSchema) throws {
        let place = "\(schema.name).\(column.name)"
        guard column.heldType == String.self else {
            throw error(
                "\(place) holds no text that could be searched. Remove .searchable, or derive a text with @Derived."
            )
        }
        guard !["rank", "rowid"].contains(column.name.lowercased()) else {
            throw error(
                "\(place) cannot be searched by this name, which SQLite's FTS5 reserves. Choose another name."
            )
        }
        guard weight >= 0, weight.isFinite else {
            throw error("\(place) has the weight \(weight). Weights are 0 or more.")
        }
    }

    private static func error(_ message: String) -> StrataError { StrataError(.invalidSchema, message) }
}

/// A table's search index as the store records it.
struct SearchDescription: Sendable, Equatable {
    /// The names of the columns, sorted.
    var columns: [String]
    var tokenizer: SearchTokenizer
    /// Lengths in characters, the shortest first.
    var prefixes: [Int]
}
