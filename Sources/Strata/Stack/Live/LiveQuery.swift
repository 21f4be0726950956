/// The live results of a query, as an asynchronous sequence.
///
/// The sequence shows the results of a context, including its unsaved edits and those of its parents. The first element
/// comes immediately. A further element comes whenever the list or a value in it changes. A slow consumer skips
/// intermediate states and receives the newest one. Queries run concurrently with the context and never wait for it.
/// An iteration ends when the stack is closed, the context is dropped, or the task is cancelled. On a stack that is
/// closed already, it throws `closed`: see ``ContextStack/close()``. For a pinned context, the sequence shows the
/// newest state.
///
/// Isolation: any; each iterator advances independently.
public struct LiveQuery<Object: Model>: AsyncSequence, Sendable {
    public typealias Element = LiveRows<Object>

    let query: Query<Object>
    /// Keeps the context alive; nil for the committed state.
    let context: ContextHandle?
    let core: StackCore

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for each state of the list.
    public struct Iterator: AsyncIteratorProtocol {
        private let live: LiveQuery
        private let observer: LayerObserver
        private var hasBegun = false
        private var last: LiveList<Object>?

        init(_ live: LiveQuery) {
            self.live = live
            observer = LayerObserver(live.core.engine.layers, of: live.context?.id)
        }

        /// Waits until the list differs from the previous element, and returns the new list.
        ///
        /// - Throws: ``StrataError`` with `invalidQuery`, with `schemaMismatch` once another stack has migrated the
        ///   store, or if the store cannot be read. The first call also throws `closed` if the stack is closed, and
        ///   `contextInvalidated` if the context has been dropped.
        public mutating func next() async throws -> LiveRows<Object>? {
            if !hasBegun {
                try live.core.checkIteration(of: live.context)
                hasBegun = true
                live.core.engine.watchFile()
            }
            while try await observer.wait() {
                let list: LiveList<Object>
                do {
                    guard let found = try await self.list() else { return nil }
                    list = found
                } catch let error as StrataError where error.code == .closed {
                    return nil
                }
                let isFirst = last == nil
                let difference = LiveDifference(from: last?.rows ?? [], to: list.rows, changed: list.changed)
                last = list
                if isFirst || !difference.isEmpty { return LiveRows(rows: list.rows, difference: difference) }
            }
            return nil
        }

        /// The rows of the query; nil if the context has ended.
        private func list() async throws -> LiveList<Object>? {
            let (live, observer, last) = (live, observer, last)
            let store = live.core.engine
            return try await store.onThread { () throws -> LiveList<Object>? in
                do {
                    return try LiveList(live.query, after: last, observer, store)
                } catch {
                    observer.forget()
                    throw StrataError(grdb: error)
                }
            }
        }
    }
}

extension ContextStack {
    /// The results of a query, now and after each change: see ``LiveQuery``.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameters:
    ///   - query: the query to follow.
    ///   - context: the context whose view is shown; by default the current context. Outside of blocks this is the main
    ///     context, if the stack has one. On an empty stack, the sequence shows the committed state.
    /// - Throws: `unknownName`, `contextOfOtherStack`, `blockFinished`, `closed`.
    public func live<Object: Model>(
        _ query: Query<Object>,
        in context: ContextChoice = .current
    ) throws -> LiveQuery<Object> {
        LiveQuery(query: query, context: try core.handle(of: context), core: core)
    }
}

extension ContextHandle {
    /// The results of a query in this context, now and after each change: see ``LiveQuery``.
    ///
    /// Isolation: callable from anywhere.
    public func live<Object: Model>(_ query: Query<Object>) -> LiveQuery<Object> {
        LiveQuery(query: query, context: self, core: core)
    }
}
