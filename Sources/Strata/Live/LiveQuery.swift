/// What a query finds, now and again whenever that has changed: the answer of a context, its unsaved edits and those of its parents
/// included, as an asynchronous sequence.
///
/// The first element comes at once, each further one when the list or a value in it is another. Who is slow misses what was in
/// between and gets the newest state. Queries run beside the context and never wait for it. The sequence ends when the stack is
/// closed, the context dropped, or the task cancelled. Of a pinned context it shows the newest state.
///
/// Isolation: any; every iterator goes at its own pace.
public struct LiveQuery<Object: Model>: AsyncSequence, Sendable {
    public typealias Element = LiveRows<Object>

    let query: Query<Object>
    /// Keeps the context alive; nil for what is committed.
    let context: ContextHandle?
    let store: Store

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for each state of the list.
    public struct Iterator: AsyncIteratorProtocol {
        private let live: LiveQuery
        private let observer: LayerObserver
        private var last: [Object.Row]?

        init(_ live: LiveQuery) {
            self.live = live
            observer = LayerObserver(live.store.layers, of: live.context?.id)
        }

        /// Waits until the list is another than that of the element before, and gives it.
        ///
        /// - Throws: ``StrataError`` with `invalidQuery`, with `schemaMismatch` once another stack has migrated the store, or if the
        ///   store cannot be read.
        public mutating func next() async throws -> LiveRows<Object>? {
            if last == nil { live.store.watchFile() }
            while try await observer.wait() {
                let rows: [Object.Row]
                do {
                    rows = try await self.rows()
                } catch let error as StrataError where error.code == .closed {
                    return nil
                }
                let difference = LiveDifference(from: last ?? [], to: rows)
                guard last == nil || !difference.isEmpty else { continue }
                last = rows
                return LiveRows(rows: rows, difference: difference)
            }
            return nil
        }

        private func rows() async throws -> [Object.Row] {
            let (live, observer) = (live, observer)
            return try await live.store.onThread {
                let store = live.store
                do {
                    let snapshot = try store.snapshot(of: live.context?.id, as: observer)
                    let stream = try RowStream(live.query, snapshot, store: store)
                    observer.note(Set(stream.tables.compactMap { store.schema.infosByTable[$0]?.index }))
                    var rows: [Object.Row] = []
                    while let row = try stream.next() { rows.append(try stream.row(from: row)) }
                    return rows
                } catch {
                    observer.forget()
                    throw StrataError(grdb: error)
                }
            }
        }
    }
}

extension ContextStack {
    /// What a query finds, now and whenever that has changed: see ``LiveQuery``.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter context: the context whose view is shown; without it the current one, which outside of blocks is main where there is
    ///   one. On an empty stack, what is committed.
    /// - Throws: `unknownName`, `foreignContext`, `blockEnded`, `closed`.
    public func live<Object: Model>(
        _ query: Query<Object>,
        in context: ContextChoice = .current
    ) throws -> LiveQuery<Object> {
        LiveQuery(query: query, context: try core.handle(of: context), store: core.engine)
    }
}

extension ContextHandle {
    /// What a query finds in this context, now and whenever that has changed: see ``LiveQuery``.
    ///
    /// Isolation: callable from anywhere.
    public func live<Object: Model>(_ query: Query<Object>) -> LiveQuery<Object> {
        LiveQuery(query: query, context: self, store: core.engine)
    }
}
