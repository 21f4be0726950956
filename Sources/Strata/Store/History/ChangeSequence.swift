/// The commits of a store in their order, from a position in the history on. Each commit occurs once, including commits
/// of other processes.
///
/// Every iterator proceeds at its own pace. Commits that it has not reached yet wait in the store's history and not in
/// memory. An iteration ends when the stack is closed or the task is cancelled. On a stack that is closed already, it
/// throws `closed`. To continue later, keep the `token` of the last element.
///
/// Isolation: any.
public struct ChangeSequence<Element: Sendable>: AsyncSequence, Sendable {
    let store: Store
    let start: Int64
    /// The error to throw first, if the sequence cannot begin at the requested position.
    let failure: StrataError?
    let element: @Sendable (ChangeSet) -> Element?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Iterates over the commits.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: ChangeSequence
        private var position: Int64
        private var hasBegun = false
        private var next: ArraySlice<ChangeSet> = []
        /// The number of commits that are read from the history at once.
        private static var chunkSize: Int { 256 }

        init(_ sequence: ChangeSequence) {
            self.sequence = sequence
            position = sequence.start
        }

        /// Waits for the next commit that concerns this sequence.
        ///
        /// - Throws: ``StrataError`` with `expiredToken` if the history does not reach back to the next commit,
        ///   `schemaMismatch` after another stack has migrated the store, and the errors of reading the store. The
        ///   first call also throws `closed` if the stack is closed.
        public mutating func next() async throws -> Element? {
            let store = sequence.store
            if !hasBegun {
                try store.checkOpen()
                hasBegun = true
            }
            if let failure = sequence.failure { throw failure }
            if position > store.layers.newestSequence {
                // The position is ahead of the layers. Its commit may be another process's and not applied here yet. Or
                // the commit is this process's, was found in the history, and is about to be reported.
                let newest: Int64
                do {
                    newest = try await store.onThread {
                        try store.absorbForeignCommits()
                        return try store.reading { $1 }
                    }
                } catch let error as StrataError where error.code == .closed {
                    return nil
                }
                guard position <= newest else { throw Store.aheadError }
            }
            while !Task.isCancelled {
                if let changes = next.popFirst() {
                    position = changes.token.sequence
                    if let element = sequence.element(changes) { return element }
                    continue
                }
                guard try await store.layers.wait(forCommitAfter: position) else { return nil }
                next =
                    if let recent = store.layers.changeSets(after: position) { recent } else {
                        try await history(after: position)
                    }
            }
            return nil
        }

        /// The commits after a position. If the history does not contain them any more, the method throws. The iterator
        /// continues with the newest commit if the caller asks for another element after the error.
        private mutating func history(after start: Int64) async throws -> ArraySlice<ChangeSet> {
            do {
                return try await sequence.store.history(after: start, limit: Self.chunkSize)[...]
            } catch let error as StrataError where error.code == .expiredToken {
                position = sequence.store.layers.newestSequence
                throw error
            } catch let error as StrataError where error.code == .closed {
                return []
            }
        }
    }
}
