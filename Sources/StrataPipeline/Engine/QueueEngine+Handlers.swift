import Synchronization

/// Which handler a task belongs to, so that none waits for itself.
extension QueueEngine {
    /// A handler that runs.
    private final class Handler: Sendable {
        let engine: QueueEngine
        let consumer: Consumer.ID
        let hasEnded = Atomic(false)

        init(_ engine: QueueEngine, _ consumer: Consumer.ID) { (self.engine, self.consumer) = (engine, consumer) }
    }

    /// The handler that this task is, or that has started it.
    @TaskLocal private static var handler: Handler?

    /// Whether this is the task of a handler of this engine that runs still; of one consumer, or of any.
    func isInsideHandler(of id: Consumer.ID? = nil) -> Bool {
        guard let handler = Self.handler, handler.engine === self else { return false }
        return !handler.hasEnded.load(ordering: .acquiring) && (id == nil || handler.consumer == id)
    }

    /// Runs a handler of a consumer.
    func asHandler(of id: Consumer.ID, _ body: () async -> Void) async {
        let handler = Handler(self, id)
        await Self.$handler.withValue(handler, operation: body)
        handler.hasEnded.store(true, ordering: .releasing)
    }

    /// Whether closing would wait for itself.
    var isInside: Bool { isInsideHandler() }
}
