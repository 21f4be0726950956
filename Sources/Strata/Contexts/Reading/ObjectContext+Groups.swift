extension ObjectContext {
    /// Computes values for each group of objects.
    ///
    /// ```swift
    /// let busy = Article.grouped { $0.author.name }.having { $0.count > 3 }
    /// for (author, (count, views)) in try context.groups(busy, { ($0.count, $0.sum(\.views)) }) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - query: the groups.
    ///   - values: the values to compute for each group: one expression, or several in parentheses.
    /// - Returns: the groups' keys and values, in the order of the query. Several keys or several values form tuples.
    /// - Throws: ``StrataError`` with `invalidQuery`, also if a sum is too large for its type; or if the store cannot
    ///   be read.
    /// - Complexity: one statement. Only its result is held in memory.
    public func groups<Object: Model, Key, KeyColumns, each Value: ColumnValue>(
        _ query: GroupedQuery<Object, Key, KeyColumns>,
        _ values: (GroupColumns<Object, KeyColumns>) -> (repeat Column<Grouped<Object>, each Value>)
    ) throws -> [(key: Key, values: (repeat each Value))] {
        var nodes: [ExpressionNode] = []
        for column in repeat each values(query.columns) { nodes.append(column.node) }
        let first = Int32(query.parts.keys.count)
        var groups: [(key: Key, values: (repeat each Value))] = []
        _ = try store.schema.index(of: Object.self)
        try run(
            { try query.parts.compile(nodes, model: Object._$schema, using: $0) },
            { reader in
                var column = first
                func next<Result: ColumnValue>(_ type: Result.Type) throws -> Result {
                    defer { column += 1 }
                    return try Self.total(reader, column)
                }
                groups.append((try query.readKey(reader), (repeat try next((each Value).self))))
            }
        )
        return groups
    }

    private static func total<Result: ColumnValue>(_ reader: RowReader, _ column: Int32) throws -> Result {
        do {
            return try Result._$value(reader.value(at: column), in: reader.name(of: column))
        } catch let error as StrataError where error.code == .undecodable {
            throw StrataError(
                .invalidQuery,
                "The result \(reader.value(at: column)) does not fit into \(Result.self). Ask for fewer objects."
            )
        }
    }

    // MARK: Sections

    /// The objects that a query finds, in sections with the same key.
    ///
    /// ```swift
    /// for section in try context.sections(Article.published, by: \.category) {
    ///     print(section.key, section.elements.map(\.title))
    /// }
    /// ```
    ///
    /// The result is sorted by the key first, from the smallest to the largest with nil first, and then by the query's
    /// own sorts. If the query itself sorts by the key first, the query determines the direction: `Article.sorted {
    /// $0.category.descending }`. Limit and offset count in the resulting order.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, or if the store cannot be read.
    public func sections<Object: Model, Key: GroupKey>(
        _ query: Query<Object>,
        by key: (Object.Columns) -> Key
    ) throws -> [QuerySection<Key.Value, Object>] where Key.Root == Object {
        let entity = try store.schema.index(of: Object.self)
        let found: [QuerySection<Key.Value, Object>] = try sections(query, key(Object.columns)._$key) {
            try object(from: $0, entity: entity)
        }
        try prefetch(query._$parts.prefetches, of: found.flatMap(\.elements))
        return found
    }

    /// The rows that a query finds, in sections with the same key: see ``sections(_:by:)``.
    public func rowSections<Object: Model, Key: GroupKey>(
        _ query: Query<Object>,
        by key: (Object.Columns) -> Key
    ) throws -> [QuerySection<Key.Value, Object.Row>] where Key.Root == Object {
        let entity = try store.schema.index(of: Object.self)
        return try sections(query, key(Object.columns)._$key) { try row(from: $0, entity: entity) }
    }

    private func sections<Object: Model, Key, KeyColumn, Element>(
        _ query: Query<Object>,
        _ key: GroupKeyParts<Key, KeyColumn>,
        _ element: (RowReader) throws -> Element
    ) throws -> [QuerySection<Key, Element>] {
        let column = Int32(Object._$schema.columns.count + 1)
        var sections: [QuerySection<Key, Element>] = []
        var current: StoredValue?
        try run(query, .sections(key.node)) { reader in
            let value = reader.value(at: column)
            if let current, current == value {
                sections[sections.count - 1].elements.append(try element(reader))
            } else {
                current = value
                sections.append(QuerySection(key: try key.read(reader, column), elements: [try element(reader)]))
            }
        }
        return sections
    }
}
