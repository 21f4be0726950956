/// The status of a ``Reachability`` and each later one, see ``Reachability/changes``.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    private let reachability: Reachability

    init(_ reachability: Reachability) { self.reachability = reachability }

    /// Begins to listen: the first element is the status of this moment.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream<ReachabilityStatus>.makeStream(bufferingPolicy: .bufferingNewest(1))
        reachability.addIterator(continuation)
        return Iterator(stream.makeAsyncIterator())
    }

    /// Gives one status after the other, none twice in a row.
    public struct Iterator: AsyncIteratorProtocol {
        private var stream: AsyncStream<ReachabilityStatus>.Iterator
        private var last: ReachabilityStatus?

        init(_ stream: AsyncStream<ReachabilityStatus>.Iterator) { self.stream = stream }

        /// The next status; nil when the task is cancelled or the ``Reachability`` is gone.
        public mutating func next() async -> ReachabilityStatus? { await next(isolation: #isolation) }

        /// The next status; nil when the task is cancelled or the ``Reachability`` is gone.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityStatus? {
            while let status = await stream.next(isolation: actor) {
                // What has changed and changed back in the meantime is no change.
                guard status != last else { continue }
                last = status
                return status
            }
            return nil
        }
    }
}
