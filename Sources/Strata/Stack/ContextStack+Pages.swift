extension ContextStack {
    /// One page of the rows of a query, as a ``background(parent:reads:_:)-87j27`` block sees them: the first rows, or
    /// those that follow a position.
    ///
    /// ```swift
    /// let page = try await stack.page(Article.sorted { $0.publishedAt.descending }, size: 20, after: token)
    /// ```
    ///
    /// The parameters are those of ``ObjectContext/page(_:size:after:)``.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: the errors of ``ObjectContext/page(_:size:after:)``; `blockFinished`, `closed`, `deadlock`;
    ///   `CancellationError` if the task is cancelled while the call waits.
    /// - Complexity: that of ``ObjectContext/page(_:size:after:)``, and one block.
    public nonisolated(nonsending) func page<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        after position: PageToken? = nil
    ) async throws -> QueryPage<Object.Row> {
        try await background { context in try context.rowPage(query, size: size, after: position) }
    }

    /// One page of the rows of a query: those that precede a position, or the last rows. See ``page(_:size:after:)``
    /// and ``ObjectContext/page(_:size:before:)``.
    public nonisolated(nonsending) func page<Object: Model>(
        _ query: Query<Object>,
        size: Int,
        before position: PageToken?
    ) async throws -> QueryPage<Object.Row> {
        try await background { context in try context.rowPage(query, size: size, before: position) }
    }
}
