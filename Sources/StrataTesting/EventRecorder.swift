public import Strata
public import StrataPipeline
import Synchronization

/// Records all events of a pipeline or broker in their order, so that tests can inspect them and wait for them.
public final class EventRecorder: Sendable {
    private struct Waiter {
        let isEnough: @Sendable ([PipelineEvent]) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var events: [PipelineEvent] = []
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        var isClosed = false
        /// The id of this recorder's listener in the runner.
        var listener: Int?
    }

    private let state = Mutex(State())
    private let runner: any OperationRunner

    /// Creates a recorder that records all events from now on.
    public init(_ runner: any OperationRunner) {
        self.runner = runner
        let number = runner.listen { [weak self] in
            self?.note($0)
        } onEnd: { [weak self] in
            self?.close()
        }
        state.withLock { $0.listener = number }
    }

    deinit { if let number = state.withLock({ $0.listener }) { runner.unlisten(number) } }

    private func note(_ event: PipelineEvent) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.waiters.filter { $0.value.isEnough(state.events) }
            for number in woken.keys { state.waiters[number] = nil }
            return woken.values
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    private func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.continuation.resume(throwing: Self.closedError) }
    }

    private static var closedError: PipelineError {
        PipelineError(
            .closed,
            "The awaited event did not happen, and cannot happen any more: the pipeline or broker is closed."
        )
    }

    /// All events so far.
    public var events: [PipelineEvent] { state.withLock { $0.events } }

    /// The operations whose handlers were started, in order. An operation appears once for each start.
    public var started: [ObjectID<QueuedOperation>] {
        events.compactMap { if case .started(let id, _) = $0 { id } else { nil } }
    }

    /// The finished operations, in order.
    public var finished: [ObjectID<QueuedOperation>] {
        events.compactMap { if case .finished(let id, _) = $0 { id } else { nil } }
    }

    /// Waits until the events so far satisfy a condition.
    ///
    /// - Parameter isEnough: the condition, which receives all events. It must not use this recorder.
    /// - Throws: `PipelineError` with `closed` if the pipeline or broker is closed earlier;
    ///   `CancellationError`.
    public func wait(until isEnough: @escaping @Sendable ([PipelineEvent]) -> Bool) async throws {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if isEnough(state.events) { return .success(()) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isClosed { return .failure(Self.closedError) }
                    state.waiters[number] = Waiter(isEnough: isEnough, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
        await runner.waitForPasses()
    }

    /// Waits until `count` attempts of an operation have ended, or until the operation was skipped or marked as done
    /// without an attempt.
    ///
    /// - Throws: as ``wait(until:)``.
    public func waitForEnd(of id: ObjectID<QueuedOperation>, count: Int = 1) async throws {
        try await wait { events in events.count { $0.isEnd(of: id) } >= count }
    }
}

extension PipelineEvent {
    /// Whether this event ends an attempt of the operation, with any outcome, or ends the operation without an attempt.
    public func isEnd(of id: ObjectID<QueuedOperation>) -> Bool {
        switch self {
        case .finished(id, _), .retrying(id, _, _), .waiting(id, _), .failed(id, _), .lost(id): true
        default: false
        }
    }
}
