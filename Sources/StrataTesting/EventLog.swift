public import Strata
public import StrataPipeline
import Synchronization

/// Everything that happens to the operations of a pipeline or broker, in its order, for tests to look at and to wait for.
public final class EventLog: Sendable {
    private struct Waiter {
        let isEnough: @Sendable ([PipelineEvent]) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var events: [PipelineEvent] = []
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        var isClosed = false
        /// By what the runner knows this log.
        var listener: Int?
    }

    private let state = Mutex(State())
    private let runner: any OperationRunner

    /// Begins to write down what happens.
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
            "What was waited for has not happened, and does no more: the pipeline or broker is closed."
        )
    }

    /// What has happened so far.
    public var events: [PipelineEvent] { state.withLock { $0.events } }

    /// The operations whose handlers were started, in order, each as often as it was.
    public var started: [ObjectID<QueuedOperation>] {
        events.compactMap { if case .started(let id, _) = $0 { id } else { nil } }
    }

    /// The operations that are done with, in order.
    public var finished: [ObjectID<QueuedOperation>] {
        events.compactMap { if case .finished(let id, _) = $0 { id } else { nil } }
    }

    /// Waits until what has happened so far is enough.
    ///
    /// - Parameter isEnough: is given all events; it asks nothing else of this log.
    /// - Throws: ``StrataPipeline/PipelineError`` with `closed` where the pipeline or broker is closed before that; `CancellationError`.
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
        await runner.settle()
    }

    /// Waits until so many attempts of an operation have ended, or it was left out or taken as done without one.
    ///
    /// - Throws: as ``wait(until:)``.
    public func waitForEnd(of id: ObjectID<QueuedOperation>, count: Int = 1) async throws {
        try await wait { events in events.count { $0.isEnd(of: id) } >= count }
    }
}

extension PipelineEvent {
    /// Whether an attempt of an operation has ended, in whichever way, or the operation without one.
    public func isEnd(of id: ObjectID<QueuedOperation>) -> Bool {
        switch self {
        case .finished(id, _), .retrying(id, _, _), .waiting(id, _), .failed(id, _), .lost(id): true
        default: false
        }
    }
}
