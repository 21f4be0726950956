extension ObjectContext {
    /// The objects of a query one after the other, in bounded memory: see ``ObjectCursor``.
    ///
    /// Where others have committed since this block first read, the cursor sees that, and so does the block from now on.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, or if the store cannot be read.
    public func cursor<Object: Model>(_ query: Query<Object>) throws -> ObjectCursor<Object> {
        try ObjectCursor(query, in: self)
    }

    /// The values of a query's objects one after the other, in bounded memory: see ``RowCursor``.
    ///
    /// - Throws: as ``cursor(_:)``.
    public func rowCursor<Object: Model>(_ query: Query<Object>) throws -> RowCursor<Object> {
        try RowCursor(query, in: self)
    }

    /// Gives each object of a query to a closure, in bounded memory: see ``ObjectCursor``.
    ///
    /// ```swift
    /// try context.forEach(Article.published) { article in article.views = 0 }
    /// try context.save()
    /// ```
    ///
    /// - Throws: as ``cursor(_:)``, and what the closure throws; that ends it.
    public func forEach<Object: Model>(_ query: Query<Object>, _ body: (Object) throws -> Void) throws {
        let cursor = try cursor(query)
        defer { cursor.close() }
        while let object = try cursor.next() { try body(object) }
    }

    /// Gives the values of each object of a query to a closure, in bounded memory: see ``RowCursor``.
    ///
    /// - Throws: as ``cursor(_:)``, and what the closure throws; that ends it.
    public func forEachRow<Object: Model>(_ query: Query<Object>, _ body: (Object.Row) throws -> Void) throws {
        let stream = try stream(query)
        defer { stream.close() }
        while let row = try stream.next() { try body(try stream.row(from: row)) }
    }

    /// The rows of a query as this context sees them now, on a connection of their own.
    func stream<Object: Model>(_ query: Query<Object>) throws -> RowStream {
        publish()
        _ = try currentView()
        let reader = try store.borrowReader(for: reference.label)
        do {
            while try reader.begin() != view?.sequence { try takeView() }
        } catch {
            store.giveBack(reader)
            throw error
        }
        let view = try currentView()
        let own = View(reader: reader, sequence: view.sequence, layers: view.layers)
        return try RowStream(query, (own, path), store: store)
    }

    /// Lets go of objects that nobody else holds, once there are so many that it pays.
    func sweepIfDue() {
        if identity.isSweepDue { _ = identity.sweep() }
    }
}
