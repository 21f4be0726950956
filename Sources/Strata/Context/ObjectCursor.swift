/// The objects of a query one after the other, of which only those are kept in memory that somebody holds or has changed.
///
/// ```swift
/// let cursor = try context.cursor(Article.all)
/// while let article = try cursor.next() { article.views = 0 }
/// try context.save()
/// ```
///
/// Which objects come, and in which order, was settled when the cursor was made: edits, saves and commits meanwhile
/// neither add one nor move one. Each object shows what its context shows when it comes. One that is gone by then is left
/// out.
///
/// Relationships that are to be read along with the objects (`with`) are read for 256 of them at a time.
///
/// A cursor holds a snapshot of the store, until it has come to its end, is closed, or is let go. Meanwhile the store's
/// journal grows with every commit; do not keep cursors for long.
///
/// Isolation: that of its context.
public final class ObjectCursor<Object: Model> {
    private let context: ObjectContext
    private let entity: Int
    private let stream: RowStream
    /// What the context showed when this was made.
    private let edition: Int
    private let prefetches: [PrefetchNode]
    /// What comes next, last first, where relationships are read ahead.
    private var batch: [Object] = []

    init(_ query: Query<Object>, in context: ObjectContext) throws {
        self.context = context
        entity = try context.store.schema.index(of: Object.self)
        stream = try context.stream(query)
        edition = context.edition
        prefetches = query._$parts.prefetches
    }

    /// The object that comes next; nil at the end.
    ///
    /// - Throws: ``StrataError`` with `contextEnded`, or if the store cannot be read. There is nothing after an error.
    /// - Complexity: one step of a statement. After changes to the model were published or saved, a look-up by key for
    ///   some of the objects that do not live in the context.
    public func next() throws -> Object? {
        guard !context.isEnded else {
            close()
            throw ObjectContext.endedError
        }
        return try prefetches.isEmpty ? nextOfStream() : nextOfBatch()
    }

    /// Lets go of the snapshot. ``next()`` gives nil from now on.
    public func close() {
        batch = []
        stream.close()
    }

    private func nextOfStream() throws -> Object? {
        context.sweepIfDue()
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
            // Else everything that was read ahead would stay in memory.
            context.view?.prefetched = Prefetched()
            try context.prefetch(prefetches, of: batch)
            batch.reverse()
        }
    }

    /// For how many objects relationships are read ahead at a time.
    private static var batchSize: Int { 256 }

    @inline(__always)
    private func object(of row: RowReader) throws -> Object? {
        guard context.edition == edition else { return try object(ofOlder: row) }
        let object: Object = try context.object(from: row, entity: entity)
        return object._$state.isDeleted ? nil : object
    }

    /// The object of a row that may not be what the context shows by now.
    @inline(never)
    private func object(ofOlder row: RowReader) throws -> Object? {
        let number = try row.read(Int64.self, at: 0)
        let view = try context.currentView()
        guard view.sequence == stream.sequence, !stream.hasPending,
            view.layers.topKind(of: number, entity: entity, in: context.path) == nil
        else { return try context.object(number, entity: context.store.schema.entity(Object.self), Object.self) }
        let object: Object = try context.object(from: row, entity: entity)
        return object._$state.isDeleted ? nil : object
    }
}
