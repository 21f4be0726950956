import Synchronization

/// The association of tasks with handlers, so that a handler does not wait for itself.
extension QueueEngine {
    /// A running handler.
    private final class Handler: Sendable {
        let engine: QueueEngine
        let consumer: Consumer.ID
        let hasEnded = Atomic(false)

        init(_ engine: QueueEngine, _ consumer: Consumer.ID) { (self.engine, self.consumer) = (engine, consumer) }
    }

    /// The handler whose task this is, or that has started this task.
    @TaskLocal private static var handler: Handler?

    /// Whether the current task belongs to a handler of this engine that still runs; nil means any consumer.
    func isInsideHandler(of id: Consumer.ID? = nil) -> Bool {
        guard let handler = Self.handler, handler.engine === self else { return false }
        return !handler.hasEnded.load(ordering: .acquiring) && (id == nil || handler.consumer == id)
    }

    /// Runs a body as a handler of a consumer.
    func asHandler(of id: Consumer.ID, _ body: () async -> Void) async {
        let handler = Handler(self, id)
        await Self.$handler.withValue(handler, operation: body)
        handler.hasEnded.store(true, ordering: .releasing)
    }

    /// Whether a call to close from here would wait for itself.
    var isInside: Bool { isInsideHandler() }
}
