package import Strata

/// Runs operations: a ``Pipeline``, or a ``TaskBroker`` for many queues.
///
/// A runner runs until it or its stack is closed. Until then, it keeps the stack open.
///
/// - Isolation: any.
public protocol OperationRunner: Sendable {
    /// The runner's registration with the engine.
    @_documentation(visibility: internal)
    var handle: RunnerHandle { get }
}

/// A runner's registration with the engine.
@_documentation(visibility: internal)
public struct RunnerHandle: Sendable {
    let id: Consumer.ID
    let engine: QueueEngine
    let hub: EventHub
    let interceptors: HandlerInterceptors
    let shutdownGrace: Duration
}

extension OperationRunner {
    // MARK: Suspension

    /// Stops starting operations, until ``resume()`` has been called as often as this method. Running operations
    /// continue, and so do operations that are just being claimed.
    ///
    /// A suspension belongs to this runner, and ends with it. To pause a pipeline in all processes, also after
    /// restarts, change its stored setting:
    /// ``Strata/ContextStack/updatePipelineSettings(of:by:at:acceptsUnknownName:_:)``.
    ///
    /// - Returns: the number of suspensions in effect.
    @discardableResult
    public func suspend() -> Int { handle.engine.suspend(handle.id) }

    /// Undoes one ``suspend()``. Without a suspension, the call has no effect.
    ///
    /// - Returns: the number of suspensions in effect.
    @discardableResult
    public func resume() -> Int { handle.engine.resume(handle.id) }

    /// The number of suspensions in effect.
    public var suspensions: Int { handle.engine.suspensions(of: handle.id) }

    /// The greatest number of handlers that run at once; nil for any number. An operator's value takes precedence over
    /// that of the options and of ``setMaxConcurrent(_:)``: see ``PipelineSettings``.
    public var maxConcurrent: Int? { handle.engine.limit(of: handle.id) }

    /// Changes how many handlers may run at once in this runner. Running handlers continue. While an operator's value
    /// is stored, the change has no effect; it applies after the reset of that value.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for less than one.
    public func setMaxConcurrent(_ limit: Int?) throws {
        if let limit { try PipelineOptions.checkLimit(limit, toRunNone: "call `suspend()`") }
        handle.engine.setLimit(limit, of: handle.id)
    }

    // MARK: Constraints

    /// Adds a source of a constraint that handlers wait for by ``Outcome/wait(_:)``. It works like the sources
    /// that the runner was opened with, for constraints that appear later. It replaces an earlier source of the same
    /// constraint.
    public func observe(_ source: any ConstraintSource) { handle.engine.observe(source, for: handle.id) }

    // MARK: Observing

    /// A stream of this runner's events, from now on. Each call returns a new stream. A stream keeps the newest 4,096
    /// unread events, and ends when the runner is closed. The stream of a closed runner is empty.
    public var events: AsyncStream<PipelineEvent> { handle.hub.subscribe() }

    /// Calls a listener synchronously at every event, before the runner does anything else, and `end` once when the
    /// runner is closed.
    ///
    /// - Returns: the token for ``unlisten(_:)``.
    @discardableResult
    package func listen(
        _ listener: @escaping @Sendable (PipelineEvent) -> Void,
        onEnd end: @escaping @Sendable () -> Void = {}
    ) -> Int {
        handle.hub.listen(listener, onEnd: end)
    }

    /// Removes a listener. Events that are just being delivered may still reach it.
    package func unlisten(_ listener: Int) { handle.hub.unlisten(listener) }

    /// Adds an interceptor that is asked at the start of each attempt from now on. Earlier interceptors are asked
    /// first.
    package func intercept(_ interceptor: any HandlerInterceptor) { handle.interceptors.append(interceptor) }

    /// Waits until the engine has processed and written everything that it knows of. Handlers may still run.
    package func waitForPasses() async { await handle.engine.executor.waitUntilIdle() }

    /// The stack on which the runner is open.
    package var stack: ContextStack { handle.engine.stack }

    /// Whether a handler of this runner runs, or an operation is ready for it.
    package func isWorking() async throws -> Bool { try await handle.engine.isWorking(handle.id) }

    /// Whether this runner takes operations under a name; true if the runner is closed.
    package func takes(_ name: PipelineName) -> Bool { handle.engine.takes(name, handle.id) }

    /// Whether this runner claims operations with a type of payload; true if the runner is closed.
    package func claims(type: String) -> Bool { handle.engine.claims(type: type, handle.id) }

    // MARK: Waiting

    /// Waits until nothing of this runner runs and nothing is ready. Use it in tests, and in programs that empty the
    /// queue and exit.
    ///
    /// The call does not wait for operations that wait for a date (such as that of the next attempt), a rate limit, a
    /// constraint, a person or a failed operation, nor for those of a pipeline or queue that an operator has paused. It
    /// does not wait for the tasks of a queue that another broker takes as well, nor for operations that other
    /// processes run, or whose type no handler of this runner takes.
    ///
    /// While the runner is suspended and an operation is ready, the call does not return. If pipelines create work for
    /// each other, use ``StackPipelines/waitUntilIdle()``, which waits for all of them.
    ///
    /// - Throws: ``PipelineError`` with `closed` if the runner is closed. ``PipelineError`` with `invalidArgument` if
    ///   one of the runner's handlers makes the call, because the handler would wait for itself. `CancellationError`;
    ///   the store's errors.
    /// - Complexity: O(names under which operations are ready), and O(ready operations whose type no handler takes),
    ///   for each check. A long wait checks ten times a second.
    public func waitUntilIdle() async throws { try await handle.engine.waitUntilIdle(handle.id) }

    // MARK: Closing

    /// Closes the runner: it starts no more operations, and waits for the running handlers. When the grace period ends,
    /// the remaining handlers are cancelled and waited for. Operations that are not done by then are returned to the
    /// queue, and the attempt does not count.
    ///
    /// If the task of this call is cancelled, handlers are cancelled at once. If one of the runner's handlers, or a
    /// task that the handler has started, makes the call, the runner does not wait for this handler and closes after
    /// the handler has returned. The runner does not wait for a handler that continues after its timeout either.
    /// Handlers that close each other's pipelines wait for each other.
    ///
    /// - Parameter grace: how long handlers may continue, by the clock of the runner.
    public func close(grace: Duration = .zero) async { await handle.engine.remove(handle.id, grace) }
}
