import Synchronization

/// Matches answers to the operations that wait for them.
final class Replies: Sendable {
    enum Reply: Sendable, Hashable {
        case answer(Parcel.Content)
        /// This client's connection or the buddy's connection was lost, so the answer cannot arrive.
        case none
    }

    /// Waits for one answer, until it is released.
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

    /// Starts to wait for a buddy's answer to an operation.
    ///
    /// Call this before the operation is sent, and before the caller checks any state on which sending depends. Then a
    /// later change of that state results in a reply.
    func waiter(for operation: String, from buddy: String) -> Waiter {
        let waiter = Waiter(operation, buddy)
        waiters.withLock { $0[operation] = waiter }
        return waiter
    }

    /// Stops waiting.
    func end(_ waiter: Waiter) {
        waiters.withLock { waiters in
            if waiters[waiter.operation] === waiter { waiters[waiter.operation] = nil }
        }
    }

    /// Delivers an answer. An answer without a waiter belongs to a repeated parcel.
    func put(_ parcel: Parcel, from buddy: String) {
        let waiter = waiters.withLock { $0[parcel.operation] }
        guard let waiter, waiter.buddy == buddy else { return }
        waiter.continuation.yield(.answer(parcel.content))
    }

    /// Tells all waiters for a buddy, or all waiters, that no answer will arrive.
    func giveUp(on buddy: String? = nil) {
        let lost = waiters.withLock { waiters in waiters.values.filter { buddy == nil || $0.buddy == buddy } }
        for waiter in lost { waiter.continuation.yield(.none) }
    }
}
