/// The objects of a query, one after the other. Only objects that other code holds or has changed stay in memory.
///
/// ```swift
/// let cursor = try context.cursor(Article.all)
/// while let article = try cursor.next() { article.views = 0 }
/// try context.save()
/// ```
///
/// The set of objects and their order are fixed when the cursor is created. Later edits, saves and commits neither add
/// nor move an object. Each object shows the state that its context shows when the cursor returns it. An object that no
/// longer exists at that point is left out.
///
/// Relationships to prefetch with the objects (`including`) are read for 256 objects at a time.
///
/// A cursor holds a snapshot of the store until it reaches its end, is closed or is released. Meanwhile the store's
/// journal grows with every commit, so do not keep cursors for long.
///
/// Isolation: that of its context.
public final class ObjectCursor<Object: Model> {
    private let context: ObjectContext
    private let entity: Int
    private let stream: RowStream
    /// The context's edition when the cursor was created.
    private let edition: Int
    private let prefetches: [PrefetchNode]
    /// The next objects in reverse order, if relationships are prefetched.
    private var batch: [Object] = []

    init(_ query: Query<Object>, in context: ObjectContext) throws {
        self.context = context
        entity = try context.store.schema.index(of: Object.self)
        stream = try context.stream(query)
        edition = context.reading.edition
        prefetches = query._$parts.prefetches
    }

    /// The next object; nil at the end.
    ///
    /// - Throws: ``StrataError`` with `contextInvalidated`, or if the store cannot be read. After an error, the cursor
    ///   returns no more objects.
    /// - Complexity: one step of a statement. If changes to the model were published or saved since, some objects that
    ///   are not live in the context additionally need a look-up by key.
    public func next() throws -> Object? {
        guard !context.isEnded else {
            close()
            throw ObjectContext.endedError
        }
        return try prefetches.isEmpty ? nextOfStream() : nextOfBatch()
    }

    /// Releases the snapshot. ``next()`` returns nil from now on.
    public func close() {
        batch = []
        stream.close()
    }

    private func nextOfStream() throws -> Object? {
        if context.live.identity.isSweepDue { _ = context.live.identity.sweep() }
        while let row = try stream.next() {
            if let object = try object(of: row) { return object }
        }
        return nil
    }

    private func nextOfBatch() throws -> Object? {
        while true {
            while let object = batch.popLast() {
                if !object._$state.isDeleted { return object }
            }
            while batch.count < Self.batchSize, let object = try nextOfStream() { batch.append(object) }
            guard !batch.isEmpty else { return nil }
            // Otherwise the prefetched relationships of all earlier batches would stay in memory.
            context.reading.snapshot?.prefetched = Prefetched()
            try context.prefetch(prefetches, of: batch)
            batch.reverse()
        }
    }

    /// The number of objects for which relationships are prefetched at a time.
    private static var batchSize: Int { 256 }

    @inline(__always)
    private func object(of row: RowReader) throws -> Object? {
        guard context.reading.edition == edition else { return try object(ofOlder: row) }
        let object: Object = try context.object(from: row, entity: entity)
        return object._$state.isDeleted ? nil : object
    }

    /// The object of a row that may be older than the state that the context shows now.
    @inline(never)
    private func object(ofOlder row: RowReader) throws -> Object? {
        let number = try row.read(Int64.self, at: 0)
        let snapshot = try context.currentSnapshot()
        guard snapshot.sequence == stream.sequence, !stream.hasPending,
            snapshot.layers.topKind(of: number, entity: entity, in: context.path) == nil
        else { return try context.object(number, entity: context.store.schema.entity(Object.self), Object.self) }
        let object: Object = try context.object(from: row, entity: entity)
        return object._$state.isDeleted ? nil : object
    }
}
