/// The value of a block, now and after each change of what the block has read, as an asynchronous sequence. `live` of
/// a stack or of a handle creates it.
///
/// The first value comes immediately. The block runs again when a commit of any process has changed a table that its
/// last run has read: the table of a model, or of a to-many relationship. Each run is in a new context, and all of its
/// queries read the same state, so the block is synchronous. Equal values are left out if the value is `Equatable`.
///
/// Further changes during a run, or before the next value is requested, cause one further run together. So a slow
/// consumer skips intermediate states and receives the newest one. The block runs concurrently with other contexts and
/// never waits for their blocks. Outside of blocks, it waits for a place in the reader pool, see
/// ``StoreConfiguration/maximumReaderCount``.
///
/// An iteration ends when the stack is closed, the observed context is dropped, or the task is cancelled. On a stack
/// that is closed already, it throws `closed`: see ``ContextStack/close()``.
///
/// Isolation: any; each iterator runs the block independently.
public struct LiveValues<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    let core: StackCore
    /// Keeps the observed context alive; nil for the committed state.
    let context: ContextHandle?
    /// Whether two values are equal, so that the second one is left out.
    let isSame: @Sendable (Value, Value) -> Bool
    let body: @Sendable (ObjectContext) throws -> Value

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Waits for each value.
    public struct Iterator: AsyncIteratorProtocol {
        private let live: LiveValues
        private let observer: LayerObserver
        private var hasBegun = false
        private var last: Value?

        init(_ live: LiveValues) {
            self.live = live
            observer = LayerObserver(live.core.engine.layers, of: live.context?.id)
        }

        /// Waits until the value differs from the previous element, and returns the new value. After an error, the
        /// next call runs the block again.
        ///
        /// - Throws: errors of the block; ``StrataError`` with `schemaMismatch` once another stack has migrated the
        ///   store, or if the store cannot be read. The first call also throws `closed` if the stack is closed, and
        ///   `contextInvalidated` if the observed context has been dropped.
        /// - Complexity: that of the block, for each run.
        public mutating func next() async throws -> Value? {
            if !hasBegun {
                try live.core.checkIteration(of: live.context)
                hasBegun = true
                live.core.engine.watchFile()
            }
            var merging = ContextMerging.atNextBlock
            while try await observer.wait() {
                let value: Value?
                do {
                    value = try await run(merging)
                } catch let error as StrataError where error.code == .closed {
                    return nil
                } catch is CancellationError where Task.isCancelled {
                    // The block was waiting for a place.
                    return nil
                }
                guard let value else {
                    // A pinned context does not move, so frequent commits cannot delay the value for ever.
                    merging = .pinned
                    continue
                }
                if let last, live.isSame(last, value) { continue }
                last = value
                return value
            }
            return nil
        }

        /// Runs the block in a new context, and observes what it has read.
        ///
        /// - Parameter merging: whether a cursor may move the block to a newer state.
        /// - Returns: the block's value. Nil if the block has read two different states and must run again, or if the
        ///   observed context has ended.
        private func run(_ merging: ContextMerging) async throws -> Value? {
            let (live, observer) = (live, observer)
            observer.forget()
            let handle = try live.core.make(.private, named: nil, parent: live.context, merging: merging)
            return try await handle.run(stack: [handle], dropping: true, isLimited: true, span: nil) {
                context -> Value? in
                let record = ReadRecord(parents: context.path.dropLast())
                context.reading.readRecord = record
                context.saving.refusal = .blockOnlyReads
                // A block without reads has a position in the log, too.
                _ = try context.currentSnapshot()
                let result = Result { try live.body(context) }
                // A cursor may have moved the block to a newer state. The error of such a block does not count either.
                guard let reads = record.reads(context.reading.cursor.event), !reads.isStale else { return nil }
                // Without the layers of a context that has ended, the block has read the committed state.
                guard live.core.engine.layers.isOpen(live.context?.id) else { return nil }
                let value = try result.get()
                // The context still has its position in the log, so no event since its snapshot is lost.
                observer.observe(reads)
                return value
            }
        }
    }
}

extension ContextStack {
    /// The value of a block that reads, now and after each change of what the block has read: see ``LiveValues``.
    ///
    /// ```swift
    /// for try await count in stack.live({ try $0.count(Article.published) }) { … }
    /// ```
    ///
    /// Each run reads the newest committed state, without unsaved changes of other contexts, even if the stack has a
    /// current context. To include unsaved changes, call `live` of a ``ContextHandle``. Equal values are left out.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter body: reads, and returns a value. It runs on a separate executor, and may run often. Its edits
    ///   are dropped. Its error ends the sequence.
    public func live<Value: Sendable & Equatable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) -> LiveValues<Value> {
        LiveValues(core: core, context: nil, isSame: { $0 == $1 }, body: body)
    }

    /// The value of a block that reads, now and after each change of what the block has read: see ``LiveValues``.
    ///
    /// Values that are not `Equatable`, such as tuples, cannot be compared. Each run of the block is therefore an
    /// element, also if its value is the same as before.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter body: reads, and returns a value. It runs on a separate executor, and may run often. Its edits
    ///   are dropped. Its error ends the sequence.
    public func live<Value: Sendable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) -> LiveValues<Value> {
        LiveValues(core: core, context: nil, isSame: { _, _ in false }, body: body)
    }
}

extension ContextHandle {
    /// The value of a block that reads, now and after each change of what the block has read: see ``LiveValues``.
    ///
    /// Each run is in a new child of this context, and reads the newest committed state with the unsaved changes of
    /// this context and its parents. Changes of these contexts also make the block run again. Equal values are left
    /// out.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter body: reads, and returns a value. It runs on a separate executor, and may run often. Its edits
    ///   are dropped. Its error ends the sequence.
    public func live<Value: Sendable & Equatable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) -> LiveValues<Value> {
        LiveValues(core: core, context: self, isSame: { $0 == $1 }, body: body)
    }

    /// The value of a block that reads, now and after each change of what the block has read: see ``LiveValues``.
    ///
    /// Values that are not `Equatable`, such as tuples, cannot be compared. Each run of the block is therefore an
    /// element, also if its value is the same as before.
    ///
    /// - Isolation: callable from anywhere.
    /// - Parameter body: reads, and returns a value. It runs on a separate executor, and may run often. Its edits
    ///   are dropped. Its error ends the sequence.
    public func live<Value: Sendable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) -> LiveValues<Value> {
        LiveValues(core: core, context: self, isSame: { _, _ in false }, body: body)
    }
}
