package import Strata

/// What runs operations: a ``Pipeline``, or a ``TaskBroker`` for many queues.
///
/// It runs until it or its stack is closed, and keeps the stack open until then.
///
/// - Isolation: any.
public protocol OperationRunner: Sendable {
    /// By what the engine knows it.
    var handle: RunnerHandle { get }
}

/// What an engine knows a runner by.
public struct RunnerHandle: Sendable {
    let id: Consumer.ID
    let engine: QueueEngine
    let hub: EventHub
    let interceptors: HandlerInterceptors
    let shutdownGrace: Duration
}

extension OperationRunner {
    // MARK: Suspension

    /// Starts no operations any more, until ``resume()`` is called as often. Those that run go on, and those that are just being
    /// claimed.
    ///
    /// - Returns: how often it is suspended now.
    @discardableResult
    public func suspend() -> Int { handle.engine.suspend(handle.id) }

    /// Takes one ``suspend()`` back; where there is none, nothing happens.
    ///
    /// - Returns: how often it is suspended now.
    @discardableResult
    public func resume() -> Int { handle.engine.resume(handle.id) }

    /// How often it is suspended.
    public var suspensions: Int { handle.engine.suspensions(of: handle.id) }

    /// How many handlers run at once at most; nil for any number.
    public var maxConcurrent: Int? { handle.engine.limit(of: handle.id) }

    /// Changes how many handlers run at once. Those that run go on.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for less than one.
    public func setMaxConcurrent(_ limit: Int?) throws {
        if let limit { try PipelineOptions.checkLimit(limit) }
        handle.engine.setLimit(limit, of: handle.id)
    }

    // MARK: Constraints

    /// Has one more constraint observed from now on, for handlers that wait for it by ``Outcome/wait(_:)``: as those that this was opened
    /// with, for constraints that come up later. Who has observed the same one before does so no more.
    public func observe(_ observer: any ConstraintObserver) { handle.engine.observe(observer, for: handle.id) }

    // MARK: Observing

    /// What happens to operations here from now on. Each call gives a stream of its own, which keeps the newest 4096 events
    /// until they are read, and ends when this is closed.
    public var events: AsyncStream<PipelineEvent> { handle.hub.subscribe() }

    /// Has a listener called at every event, before anything else happens here, and once when this is closed.
    ///
    /// - Returns: by what ``unlisten(_:)`` takes it away again.
    @discardableResult
    package func listen(
        _ listener: @escaping @Sendable (PipelineEvent) -> Void,
        onEnd end: @escaping @Sendable () -> Void = {}
    ) -> Int {
        handle.hub.listen(listener, onEnd: end)
    }

    /// Has a listener called no more, but for what is being told already.
    package func unlisten(_ listener: Int) { handle.hub.unlisten(listener) }

    /// Has an interceptor asked at the start of each attempt from now on; those that were set before are asked first.
    package func intercept(_ interceptor: any HandlerInterceptor) { handle.interceptors.append(interceptor) }

    /// Waits until everything that is known has been looked at and written. Handlers may run still.
    package func settle() async { await handle.engine.settle() }

    /// The stack on which it is open.
    package var stack: ContextStack { handle.engine.stack }

    /// Whether a handler runs here, or an operation is ready for one.
    package func isWorking() async throws -> Bool { try await handle.engine.isWorking(handle.id) }

    /// Whether operations under a name are done here; true where this is closed.
    package func takes(_ name: PipelineName) -> Bool { handle.engine.takes(name, handle.id) }

    // MARK: Waiting

    /// Waits until nothing runs here and nothing is ready any more, as a program does that works off what is queued and ends, or a test.
    ///
    /// What waits for a moment, such as that of the next attempt, for a rate limit, a constraint, a person or something that has failed stays, and so do the
    /// tasks of a queue that another broker takes as well. What other processes run is not waited for.
    ///
    /// It does not return while it is suspended and something is ready. Where pipelines make work for each other, ``StackPipelines/drained()`` waits for all.
    ///
    /// - Throws: ``PipelineError`` with `closed` where it is closed by then, and with `invalidArgument` where a handler of its own calls it, which would wait for
    ///   itself; `CancellationError`; what the store reports.
    /// - Complexity: O(names under which anything is ready), each time that it looks, which is ten times a second where it takes long.
    public func drained() async throws { try await handle.engine.drained(handle.id) }

    // MARK: Closing

    /// Starts no operations any more, and waits for the end of the handlers that run. Those that have not ended when the grace is over
    /// are cancelled and waited for; what they have not done by then is given back, and the attempt does not count.
    ///
    /// Where its task is cancelled, handlers are at once. A handler of its own that calls this, or a task that it has started, is not waited for: it is
    /// closed behind it. Nor is one that goes on after its deadline. Handlers that close each other's pipelines wait for each other.
    ///
    /// - Parameter grace: how long handlers may go on, by the clock of the runner.
    public func close(grace: Duration = .zero) async { await handle.engine.remove(handle.id, grace) }
}
