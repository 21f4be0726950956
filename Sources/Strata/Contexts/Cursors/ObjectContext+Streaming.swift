extension ObjectContext {
    /// The objects of a query, one after the other, in bounded memory: see ``ObjectCursor``.
    ///
    /// If other contexts have committed since this block first read, the cursor sees their commits. From then on, the
    /// block sees them too. A pinned context keeps its state. Its cursor first reads the ids of all objects, eight
    /// bytes each.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, or if the store cannot be read.
    public func cursor<Object: Model>(_ query: Query<Object>) throws -> ObjectCursor<Object> {
        try ObjectCursor(query, in: self)
    }

    /// The values of a query's objects, one after the other, in bounded memory: see ``RowCursor``.
    ///
    /// - Throws: as ``cursor(_:)``.
    public func rowCursor<Object: Model>(_ query: Query<Object>) throws -> RowCursor<Object> {
        try RowCursor(query, in: self)
    }

    /// Calls a closure with each object of a query, in bounded memory: see ``ObjectCursor``.
    ///
    /// ```swift
    /// try context.forEach(Article.published) { article in article.views = 0 }
    /// try context.save()
    /// ```
    ///
    /// - Throws: as ``cursor(_:)``, and errors thrown by the closure, which end the iteration.
    public func forEach<Object: Model>(_ query: Query<Object>, _ body: (Object) throws -> Void) throws {
        let cursor = try cursor(query)
        defer { cursor.close() }
        while let object = try cursor.next() { try body(object) }
    }

    /// Calls a closure with the values of each object of a query, in bounded memory: see ``RowCursor``.
    ///
    /// - Throws: as ``cursor(_:)``, and errors thrown by the closure, which end the iteration.
    public func forEachRow<Object: Model>(_ query: Query<Object>, _ body: (Object.Row) throws -> Void) throws {
        let stream = try stream(query)
        defer { stream.close() }
        while let row = try stream.next() { try body(try stream.row(from: row)) }
    }

    /// The rows of a query as this context sees them now, on a separate connection if possible.
    func stream<Object: Model>(_ query: Query<Object>) throws -> RowStream {
        publish()
        _ = try currentSnapshot()
        // No other connection sees the running transaction.
        if reading.transaction != nil { return try pinnedStream(query) }
        let reader = try store.borrowReader(for: reference.label)
        guard try matchSnapshot(reader) else {
            store.giveBack(reader)
            return try pinnedStream(query)
        }
        let snapshot = try currentSnapshot()
        reader.connection.readRecord = reading.readRecord
        let own = ReadSnapshot(reader: reader, sequence: snapshot.sequence, layers: snapshot.layers)
        return try RowStream(query, (own, path), store: store)
    }

    /// Opens a reader on the snapshot of this context. If other contexts have committed, the context moves to the
    /// newest snapshot. A pinned context does not move; the result is then false.
    private func matchSnapshot(_ reader: Reader) throws -> Bool {
        do {
            while try reader.begin() != reading.snapshot?.sequence {
                if reading.isPinned { return false }
                try acquireSnapshot()
            }
            return true
        } catch {
            store.giveBack(reader)
            throw error
        }
    }

    /// The rows of a query as this context sees them, from the context's own snapshot.
    private func pinnedStream<Object: Model>(_ query: Query<Object>) throws -> RowStream {
        var ids: [Int64] = []
        try run(query, .ids) { ids.append(try $0.read(Int64.self, at: 0)) }
        let entity = store.schema.entities[try store.schema.index(of: Object.self)].info
        let rows = try PinnedRows(ids, of: entity, (try currentSnapshot(), path), store)
        if reading.transaction != nil {
            reading.cursorsInTransaction.removeAll { $0.rows == nil }
            reading.cursorsInTransaction.append(WeakRows(rows: rows))
        }
        return RowStream(rows, of: entity.index)
    }
}
