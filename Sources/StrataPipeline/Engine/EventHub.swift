import Synchronization

/// Distributes events to listeners and streams.
final class EventHub: Sendable {
    private struct Listener: Sendable {
        let number: Int
        let receive: @Sendable (PipelineEvent) -> Void
        let end: @Sendable () -> Void
    }

    private struct State {
        var next = 0
        var listeners: [Listener] = []
        var isFinished = false
    }

    private let state = Mutex(State())
    /// The receiver of events for logs and metrics.
    let telemetry: PipelineTelemetry?
    /// The number of events that an unread stream keeps.
    static let limit = 4096

    init(_ telemetry: PipelineTelemetry? = nil) { self.telemetry = telemetry }

    func subscribe() -> AsyncStream<PipelineEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PipelineEvent.self,
            bufferingPolicy: .bufferingNewest(Self.limit)
        )
        let number = listen {
            continuation.yield($0)
        } onEnd: {
            continuation.finish()
        }
        continuation.onTermination = { [weak self] _ in self?.unlisten(number) }
        return stream
    }

    /// Sends an event of an operation in this process to logs, metrics, listeners and streams.
    func send(_ event: PipelineEvent) {
        telemetry?.record(event)
        deliver(event)
    }

    /// Delivers an event to listeners and streams only. Logs and metrics leave it out, because neither an attempt nor
    /// an engine of this process has caused it.
    func deliver(_ event: PipelineEvent) {
        for listener in state.withLock({ $0.listeners }) { listener.receive(event) }
    }

    /// Calls a listener at every event, before anything else happens, and `end` once when there are no more events.
    ///
    /// - Returns: the token for ``unlisten(_:)``.
    func listen(_ listener: @escaping @Sendable (PipelineEvent) -> Void, onEnd end: @escaping @Sendable () -> Void)
        -> Int
    {
        let (number, isFinished) = state.withLock { state in
            state.next += 1
            if !state.isFinished {
                state.listeners.append(Listener(number: state.next, receive: listener, end: end))
            }
            return (state.next, state.isFinished)
        }
        if isFinished { end() }
        return number
    }

    /// Removes a listener. Events that are just being delivered may still reach it.
    func unlisten(_ number: Int) { state.withLock { $0.listeners.removeAll { $0.number == number } } }

    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.end() }
    }
}
