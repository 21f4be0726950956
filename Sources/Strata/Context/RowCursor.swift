/// The values of a query's objects one after the other, without objects. Made by ``ObjectContext/rowCursor(_:)``.
///
/// All of them are as they were when the cursor was made. Else as ``ObjectCursor``.
///
/// Isolation: that of its context.
public final class RowCursor<Object: Model> {
    private let context: ObjectContext
    private let stream: RowStream

    init(_ query: Query<Object>, in context: ObjectContext) throws {
        self.context = context
        stream = try context.stream(query)
    }

    /// The row that comes next; nil at the end.
    ///
    /// - Throws: ``StrataError`` with `contextEnded`, or if the store cannot be read. There is nothing after an error.
    public func next() throws -> Object.Row? {
        guard !context.isEnded else {
            close()
            throw ObjectContext.endedError
        }
        return try stream.next().map { try stream.row(from: $0) }
    }

    /// Lets go of the snapshot. ``next()`` gives nil from now on.
    public func close() { stream.close() }
}
