/// Commits one after the other, from a position in the history on: in their order, each one once, also those of other processes.
///
/// Every iterator goes at its own pace; what it has not come to waits in the store's history and not in memory. The sequence ends
/// when the stack is closed or the task is cancelled. Go on later with the `token` of the last element.
///
/// Isolation: any.
public struct ChangeSequence<Element: Sendable>: AsyncSequence, Sendable {
    let store: Store
    let start: Int64
    /// Thrown before anything else, if the sequence cannot begin where it was asked to.
    let failure: StrataError?
    let element: @Sendable (ChangeSet) -> Element?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Walks through the commits.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: ChangeSequence
        private var position: Int64
        private var next: ArraySlice<ChangeSet> = []

        init(_ sequence: ChangeSequence) {
            self.sequence = sequence
            position = sequence.start
        }

        /// Waits for the next commit that concerns this sequence.
        ///
        /// - Throws: ``StrataError`` with `expiredToken` where the history does not reach back to the commit that comes next,
        ///   `schemaMismatch` once another stack has migrated the store, and what reading the store throws.
        public mutating func next() async throws -> Element? {
            if let failure = sequence.failure { throw failure }
            let store = sequence.store
            if position > store.layers.newestSequence {
                // It comes from another process, whose commits this one has not heard of yet; or it was found in the history and
                // is a commit of this one's that is about to be told of.
                let newest = try await store.onThread {
                    try store.takeInForeignCommits()
                    return try store.reading { $1 }
                }
                guard position <= newest else { throw Store.aheadError }
            }
            while !Task.isCancelled {
                if let changes = next.popFirst() {
                    position = changes.token.sequence
                    if let element = sequence.element(changes) { return element }
                    continue
                }
                guard try await store.layers.hub.wait(after: position) else { return nil }
                next =
                    if let recent = store.layers.hub.recent(after: position) { recent } else {
                        try await history(after: position)
                    }
            }
            return nil
        }

        /// What has been since a position. Where that is not known any more, the iterator goes on from the newest commit, if it is
        /// asked to after the error.
        private mutating func history(after start: Int64) async throws -> ArraySlice<ChangeSet> {
            do {
                return try await sequence.store.history(after: start, limit: ChangeHub.limit)[...]
            } catch let error as StrataError where error.code == .expiredToken {
                position = sequence.store.layers.newestSequence
                throw error
            } catch let error as StrataError where error.code == .closed {
                return []
            }
        }
    }
}
