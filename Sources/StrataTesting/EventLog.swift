public import Strata
public import StrataPipeline
import Synchronization

/// Everything that happens to the operations of a pipeline or broker, in its order, for tests to look at and to wait for.
public final class EventLog: Sendable {
    private struct Waiter {
        let isEnough: @Sendable ([PipelineEvent]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var events: [PipelineEvent] = []
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())
    private let runner: any OperationRunner

    /// Begins to write down what happens.
    public init(_ runner: any OperationRunner) {
        self.runner = runner
        runner.listen { [weak self] in self?.note($0) }
    }

    private func note(_ event: PipelineEvent) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.waiters.filter { $0.isEnough(state.events) }
            if !woken.isEmpty { state.waiters.removeAll { $0.isEnough(state.events) } }
            return woken
        }
        for waiter in woken { waiter.continuation.resume() }
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
    public func wait(until isEnough: @escaping @Sendable ([PipelineEvent]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isEnough(state.events) { return true }
                state.waiters.append(Waiter(isEnough: isEnough, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        await runner.settle()
    }

    /// Waits until so many attempts of an operation have ended.
    public func waitForEnd(of id: ObjectID<QueuedOperation>, count: Int = 1) async {
        await wait { events in events.count { $0.isEnd(of: id) } >= count }
    }
}

extension PipelineEvent {
    /// Whether an attempt of an operation has ended, in whichever way.
    public func isEnd(of id: ObjectID<QueuedOperation>) -> Bool {
        switch self {
        case .finished(id, _), .retrying(id, _, _), .waiting(id, _), .failed(id, _), .lost(id): true
        default: false
        }
    }
}
