import Synchronization

/// Answers to what was sent, for those who wait for them.
final class Replies: Sendable {
    enum Reply: Sendable, Hashable {
        case answer(Parcel.Content)
        /// The connection on which it would have come, or the buddy's, is gone.
        case none
    }

    /// Waits for one answer; ends when it is let go.
    final class Waiter: Sendable {
        fileprivate let operation: String
        fileprivate let buddy: String
        private let stream: AsyncStream<Reply>
        fileprivate let continuation: AsyncStream<Reply>.Continuation

        fileprivate init(_ operation: String, _ buddy: String) {
            self.operation = operation
            self.buddy = buddy
            (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        }

        /// - Throws: `CancellationError`.
        func reply() async throws -> Reply {
            for await reply in stream { return reply }
            throw CancellationError()
        }
    }

    private let waiters = Mutex<[String: Waiter]>([:])

    /// Begins to wait for what a buddy says of an operation. To be called before that is sent, and before anything is
    /// looked at on which sending depends: what changes later is a reply.
    func waiter(for operation: String, from buddy: String) -> Waiter {
        let waiter = Waiter(operation, buddy)
        waiters.withLock { $0[operation] = waiter }
        return waiter
    }

    /// Waits no more.
    func end(_ waiter: Waiter) {
        waiters.withLock { waiters in
            if waiters[waiter.operation] === waiter { waiters[waiter.operation] = nil }
        }
    }

    /// An answer has come. One that nobody waits for is to a repeat.
    func put(_ parcel: Parcel, from buddy: String) {
        let waiter = waiters.withLock { $0[parcel.operation] }
        guard let waiter, waiter.buddy == buddy else { return }
        waiter.continuation.yield(.answer(parcel.content))
    }

    /// No more answers come from a buddy, or from anybody.
    func giveUp(on buddy: String? = nil) {
        let lost = waiters.withLock { waiters in waiters.values.filter { buddy == nil || $0.buddy == buddy } }
        for waiter in lost { waiter.continuation.yield(.none) }
    }
}
