/// The values of a query's objects, one after the other, without objects. Created by ``ObjectContext/rowCursor(_:)``.
///
/// All values are those at the moment when the cursor was created. In other respects, the cursor behaves like
/// ``ObjectCursor``.
///
/// Isolation: that of its context.
public final class RowCursor<Object: Model> {
    private let context: ObjectContext
    private let stream: RowStream

    init(_ query: Query<Object>, in context: ObjectContext) throws {
        self.context = context
        stream = try context.stream(query)
    }

    /// The next row; nil at the end.
    ///
    /// - Throws: ``StrataError`` with `contextInvalidated`, or if the store cannot be read. After an error, the cursor
    ///   returns no more rows.
    public func next() throws -> Object.Row? {
        guard !context.isEnded else {
            close()
            throw ObjectContext.endedError
        }
        return try stream.next().map { try stream.row(from: $0) }
    }

    /// Releases the snapshot. ``next()`` returns nil from now on.
    public func close() { stream.close() }
}
