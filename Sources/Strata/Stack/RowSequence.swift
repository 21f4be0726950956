/// The values of a query's objects, as an asynchronous sequence. Made by ``ContextStack/rows(_:)`` and
/// ``ContextHandle/rows(_:)``.
///
/// Each iterator begins with a snapshot of what its context shows when the first row is asked for, and gives that, whatever
/// happens meanwhile. Rows are read as they are asked for, in portions, so that memory stays bounded and a slow reader
/// slows nobody down; they are read on a queue of their own.
///
/// Of a pinned context it is the newest committed state, with what the context and its parents have published by then: the snapshot that
/// the context itself is pinned to belongs to its blocks. ``ObjectContext/forEachRow(_:_:)`` in a block reads that.
///
/// An iterator holds its snapshot until it has come to its end or is let go, as it is when a loop is left. Meanwhile the
/// store's journal grows with every commit.
public struct RowSequence<Object: Model>: AsyncSequence, Sendable {
    public typealias Element = Object.Row

    let query: Query<Object>
    let handle: ContextHandle

    /// The iterator throws ``StrataError`` with `invalidQuery`, `contextEnded` or `closed`, or if the store cannot be read.
    public func makeAsyncIterator() -> PortionIterator<Object.Row> { PortionIterator(source: source) }

    var source: PortionSource<Object.Row> {
        let (query, handle) = (query, handle)
        let store = handle.core.engine
        return PortionSource("strata.rows", store) {
            guard !handle.owner.isRetired else { throw ObjectContext.endedError }
            let stream = try RowStream(query, store.snapshot(of: handle.id), store: store)
            return { try stream.next().map { (try stream.row(from: $0), $0.size) } }
        }
    }
}

extension ContextHandle {
    /// The values of a query's objects as this context shows them: see ``RowSequence``.
    ///
    /// The context itself is not waited for. What it has not published yet, in a block that runs elsewhere, is not seen.
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
    /// - Throws: `noContext` when the stack is empty, `blockEnded`, `closed`.
    public func rows<Object: Model>(_ query: Query<Object>) throws -> RowSequence<Object> {
        guard let current = try current else { throw StackCore.noContextError }
        return current.rows(query)
    }
}
