public import Strata
import Synchronization

/// Controls all pipelines and brokers of a stack together, including those that are opened later.
///
/// - Isolation: any.
public final class StackPipelines: StackEngine {
    private struct State {
        var suspensions = 0
        var maxConcurrent: Int?
        weak var engine: QueueEngine?
    }

    private let state = Mutex(State())
    private static let name = "strata.pipelines"

    private init() {}

    /// The shared controls of a stack. On a closed stack, changes have no effect.
    static func of(_ stack: ContextStack) -> StackPipelines {
        (try? stack.engine(name) { StackPipelines() }) ?? StackPipelines()
    }

    // MARK: Suspension

    /// Stops all runners of the stack from starting operations, until ``resume()`` has been called as often as this
    /// method. The suspensions of each runner count in addition. Running operations continue, and so do operations that
    /// are just being claimed.
    ///
    /// - Returns: the number of common suspensions in effect.
    @discardableResult
    public func suspend() -> Int {
        state.withLock { state in
            state.suspensions += 1
            return state.suspensions
        }
    }

    /// Undoes one ``suspend()``. Without a suspension, the call has no effect.
    ///
    /// - Returns: the number of common suspensions in effect.
    @discardableResult
    public func resume() -> Int {
        let (left, engine) = state.withLock { state in
            state.suspensions = max(state.suspensions - 1, 0)
            return (state.suspensions, state.engine)
        }
        if left == 0 { engine?.schedulePass() }
        return left
    }

    /// The number of common suspensions in effect.
    public var suspensions: Int { state.withLock { $0.suspensions } }

    // MARK: Limits

    /// The greatest number of handlers of all runners that run at once, in addition to the limit of each runner; nil,
    /// the default, for any number.
    public var maxConcurrent: Int? { state.withLock { $0.maxConcurrent } }

    /// Changes how many handlers may run at once. Running handlers continue.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for less than one.
    public func setMaxConcurrent(_ limit: Int?) throws {
        if let limit { try PipelineOptions.checkLimit(limit, toRunNone: "call `suspend()`") }
        let engine = state.withLock { state in
            state.maxConcurrent = limit
            return state.engine
        }
        engine?.schedulePass()
    }

    // MARK: Waiting

    /// Waits until nothing runs in any pipeline or broker of the stack, and nothing is ready for any of them. This
    /// covers pipelines that create work for each other.
    ///
    /// The call does not wait for operations that wait for a date, a rate limit, a constraint, a person or a failed
    /// operation. It does not wait for operations whose queue no runner takes, or several runners take, or an operator
    /// has paused, or whose type no handler takes. While an operation is ready for a suspended runner, or all runners
    /// are suspended together, the call does not return.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if a handler makes the call, because the handler would wait
    ///   for itself; `CancellationError`; the store's errors.
    /// - Complexity: as ``OperationRunner/waitUntilIdle()``.
    public func waitUntilIdle() async throws {
        let engine = state.withLock { $0.engine }
        try await engine?.waitUntilIdle()
    }

    // MARK: For the engine

    /// Notifies an engine of changes from now on.
    func attach(_ engine: QueueEngine) { state.withLock { $0.engine = engine } }

    /// The number of handlers that may be started in addition to `running` running handlers.
    func freeSlots(besides running: Int) -> Int {
        state.withLock { state in
            if state.suspensions > 0 { return 0 }
            return state.maxConcurrent.map { max($0 - max(running, 0), 0) } ?? .max
        }
    }

    package func stop() async {}

    package var isInside: Bool { false }
}

extension ContextStack {
    /// Controls of all pipelines and brokers of this stack together: they can be suspended and limited at once.
    ///
    /// ```swift
    /// stack.pipelines.suspend()
    /// try stack.pipelines.setMaxConcurrent(16)
    /// ```
    public var pipelines: StackPipelines { StackPipelines.of(self) }
}
