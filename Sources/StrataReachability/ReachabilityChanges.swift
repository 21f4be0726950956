/// The sequence of the current status of a ``Reachability`` and each later one, see ``Reachability/changes``.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    private let reachability: Reachability

    init(_ reachability: Reachability) { self.reachability = reachability }

    /// Begins to listen. The first element is the current status.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream<ReachabilityStatus>.makeStream(bufferingPolicy: .bufferingNewest(1))
        reachability.addIterator(continuation)
        return Iterator(stream.makeAsyncIterator())
    }

    /// Iterates over the statuses, without equal ones in a row.
    public struct Iterator: AsyncIteratorProtocol {
        private var stream: AsyncStream<ReachabilityStatus>.Iterator
        private var last: ReachabilityStatus?

        init(_ stream: AsyncStream<ReachabilityStatus>.Iterator) { self.stream = stream }

        /// The next status; nil after the task is cancelled or the ``Reachability`` is deallocated.
        public mutating func next() async -> ReachabilityStatus? { await next(isolation: #isolation) }

        /// The next status; nil after the task is cancelled or the ``Reachability`` is deallocated.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityStatus? {
            while let status = await stream.next(isolation: actor) {
                // A status that has changed and changed back meanwhile is not reported again.
                guard status != last else { continue }
                last = status
                return status
            }
            return nil
        }
    }
}
