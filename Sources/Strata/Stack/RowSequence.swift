/// The values of a query's objects, as an asynchronous sequence. ``ContextStack/rows(_:)`` and
/// ``ContextHandle/rows(_:)`` create it.
///
/// Each iterator takes a snapshot of its context when the first row is requested, and returns the rows of this
/// snapshot. Later changes do not affect the iterator. A separate queue reads the rows on demand, in chunks. Memory
/// therefore stays bounded, and a slow reader delays no other code.
///
/// For a pinned context, the snapshot is the newest committed state, with the edits that the context and its parents
/// have published by then. The snapshot that the context itself is pinned to is reserved for its blocks. To read the
/// pinned snapshot, call ``ObjectContext/forEachRow(_:_:)`` in a block.
///
/// An iterator holds its snapshot until it reaches the end or is released, for example when a loop exits early.
/// Meanwhile the store's write-ahead log grows with every commit. If the stack is closed before the last row, the
/// iterator throws `closed`, because an early end would look like the last row.
public struct RowSequence<Object: Model>: AsyncSequence, Sendable {
    public typealias Element = Object.Row

    let query: Query<Object>
    let handle: ContextHandle

    /// The iterator throws ``StrataError`` with `invalidQuery`, `contextInvalidated` or `closed`, or if the store
    /// cannot be read.
    public func makeAsyncIterator() -> ChunkedIterator<Object.Row> { ChunkedIterator(source: source) }

    var source: ChunkedSource<Object.Row> {
        let (query, handle) = (query, handle)
        let store = handle.core.engine
        return ChunkedSource("strata.rows", store) {
            try handle.core.checkIteration(of: handle)
            let stream = try RowStream(query, store.snapshot(of: handle.id), store: store)
            return { try stream.next().map { (try stream.row(from: $0), $0.size) } }
        }
    }
}

extension ContextHandle {
    /// The values of a query's objects as this context shows them: see ``RowSequence``.
    ///
    /// This call does not wait for the context. It does not see edits that a block elsewhere has not published yet.
    ///
    /// Isolation: callable from anywhere.
    public func rows<Object: Model>(_ query: Query<Object>) -> RowSequence<Object> {
        core.publishCaller()
        return RowSequence(query: query, handle: self)
    }
}

extension ContextStack {
    /// The values of a query's objects as the current context shows them, as an asynchronous sequence:
    ///
    /// ```swift
    /// for try await row in try stack.rows(Article.published) { … }
    /// ```
    ///
    /// Isolation: callable from anywhere.
    ///
    /// - Throws: `contextNotFound` if the stack is empty, `blockFinished`, `closed`.
    public func rows<Object: Model>(_ query: Query<Object>) throws -> RowSequence<Object> {
        guard let current = try current else { throw StackCore.contextNotFoundError }
        return current.rows(query)
    }
}
