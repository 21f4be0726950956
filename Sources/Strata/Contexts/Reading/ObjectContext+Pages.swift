extension ObjectContext {
    /// One page of a query: the first objects, or those that follow a position.
    ///
    /// ```swift
    /// let first = try context.page(Article.sorted { $0.publishedAt.descending }, size: 20)
    /// let second = try context.page(Article.sorted { $0.publishedAt.descending }, size: 20, after: first.next)
    /// ```
    ///
    /// The query may have any conditions and sorts, also by values that may be nil. As in each query, the id decides
    /// between objects that the sorts leave equal. Inserted and deleted objects do not move the position. An object
    /// whose sort values change between two pages may be on both pages, or on neither.
    ///
    /// - Parameters:
    ///   - query: the query, without limit and offset. It must be the query that the token came from. A query with a
    ///     search pattern must have a sort.
    ///   - size: the number of objects, from 1 to `Int.max - 1`.
    ///   - position: the position before the page: the ``QueryPage/next`` of the previous page. Nil for the first page.
    /// - Throws: ``StrataError`` with `invalidToken` for a token of another query or a damaged token, with
    ///   `invalidQuery`, or if the store cannot be read.
    /// - Complexity: with an index of the sort columns, O(size · log objects) for each page, wherever it is. SQLite may
    ///   also read and sort rows that have the same sort values as one of the page. It also reads rows in between that
    ///   the conditions exclude, unless the index begins with the columns of the conditions. Without an index, each
    ///   page reads all objects that meet the conditions, perhaps several times.
    public func page<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        after position: PageToken? = nil
    ) throws -> QueryPage<Object> {
        try objectPage(query, PageRequest(size: size, position: position, isForward: true))
    }

    /// One page of a query: the objects that precede a position, or the last objects.
    ///
    /// The objects come in the order of the query.
    ///
    /// - Parameters:
    ///   - query: as for ``page(_:size:after:)``.
    ///   - size: as for ``page(_:size:after:)``.
    ///   - position: the position after the page: the ``QueryPage/previous`` of the following page. Nil for the last
    ///     page.
    /// - Throws: as ``page(_:size:after:)``.
    /// - Complexity: as ``page(_:size:after:)``.
    public func page<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        before position: PageToken?
    ) throws -> QueryPage<Object> {
        try objectPage(query, PageRequest(size: size, position: position, isForward: false))
    }

    /// One page of the rows of a query: see ``page(_:size:after:)``. No objects are created or registered.
    public func rowPage<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        after position: PageToken? = nil
    ) throws -> QueryPage<Object.Row> {
        try rowPage(query, PageRequest(size: size, position: position, isForward: true))
    }

    /// One page of the rows of a query: see ``page(_:size:before:)``. No objects are created or registered.
    public func rowPage<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        before position: PageToken?
    ) throws -> QueryPage<Object.Row> {
        try rowPage(query, PageRequest(size: size, position: position, isForward: false))
    }

    /// One page of the ids of a query: see ``page(_:size:after:)``. Large values of the objects are not read.
    package func idPage<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        after position: PageToken? = nil
    ) throws -> QueryPage<ObjectID<Object>> {
        try idPage(query, PageRequest(size: size, position: position, isForward: true, readsIDs: true))
    }

    /// One page of the ids of a query: see ``page(_:size:before:)``. Large values of the objects are not read.
    package func idPage<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        before position: PageToken?
    ) throws -> QueryPage<ObjectID<Object>> {
        try idPage(query, PageRequest(size: size, position: position, isForward: false, readsIDs: true))
    }

    private func idPage<Object: Model>(
        _ query: Query<Object>,
        _ request: PageRequest
    ) throws -> QueryPage<ObjectID<Object>> {
        try page(query, request) { $0.read(ObjectID<Object>.self, at: 0) }
    }

    private func objectPage<Object: Model>(
        _ query: Query<Object>,
        _ request: PageRequest
    ) throws -> QueryPage<Object> {
        let entity = try store.schema.index(of: Object.self)
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        let found: QueryPage<Object> = try page(query, request) { try object(from: $0, entity: entity) }
        if !query._$parts.prefetches.isEmpty { try prefetch(query._$parts.prefetches, of: found.elements) }
        return found
    }

    private func rowPage<Object: Model>(
        _ query: Query<Object>,
        _ request: PageRequest
    ) throws -> QueryPage<Object.Row> {
        let entity = try store.schema.index(of: Object.self)
        return try page(query, request) { try row(from: $0, entity: entity) }
    }

    /// Runs the statements of a page until they have found one row more than the page has.
    private func page<Object: Model, Element>(
        _ query: Query<Object>,
        _ request: PageRequest,
        _ read: (RowReader) throws -> Element
    ) throws -> QueryPage<Element> {
        let (connection, compiled) = try prepare {
            try query.compile(
                request,
                using: $0,
                tables: .tables(resolver: store.schema.resolver, identity: store.identity)
            )
        }
        var elements: [Element] = []
        // The sort values of the elements that are nearest to the position and farthest from it.
        var (near, far): ([StoredValue], [StoredValue]) = ([], [])
        var hasMore = false
        for statement in compiled.statements where !hasMore {
            try connection.statement(statement).run(statement.bindings) { reader in
                guard elements.count < request.size else {
                    hasMore = true
                    return
                }
                elements.append(try read(reader))
                if elements.count == 1 { near = compiled.tokenColumns.map { reader.value(at: $0) } }
                if elements.count == request.size { far = compiled.tokenColumns.map { reader.value(at: $0) } }
            }
        }
        let isForward = request.isForward
        let start = request.position.map { position in
            elements.isEmpty ? position : PageToken(near, isAfter: !isForward, of: compiled.query)
        }
        let end = hasMore ? PageToken(far, isAfter: isForward, of: compiled.query) : nil
        return QueryPage(
            elements: isForward ? elements : elements.reversed(),
            previous: isForward ? start : end,
            next: isForward ? end : start
        )
    }
}
