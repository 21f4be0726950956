public import Strata

/// A queue of operations that are stored with the application's data, and the handler that does them.
///
/// ```swift
/// let uploads = try await Pipeline.open(stack, named: .uploads) { (attempt: Attempt<Upload>) in
///     try await send(attempt.payload.file, key: attempt.id)
///     return .done
/// }
/// ```
///
/// Each operation runs at least once: it is taken off the queue when its handler has said what came of it, and where a process ends
/// before that, another one starts it again under the same id.
///
/// A pipeline runs until it or its stack is closed. It keeps the stack open until then.
///
/// - Isolation: any.
public final class Pipeline: Sendable {
    /// The models that a stack is opened with, beside the application's own.
    public static let models: [any Model.Type] = [
        QueuedOperation.self, FinishedOperation.self, OperationDependency.self, OperationHold.self,
        PipelineWorker.self, PipelineRecord.self,
    ]

    /// The name.
    public let name: PipelineName
    let engine: QueueEngine
    private let hub: EventHub

    private init(_ name: PipelineName, _ engine: QueueEngine, _ hub: EventHub) {
        self.name = name
        self.engine = engine
        self.hub = hub
    }

    /// Begins to run the operations of a pipeline, those that are left from before among them.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - name: the name under which operations are queued. One pipeline of a name is open per stack.
    ///   - formerNames: names that the pipeline had before; operations that are queued under them are moved, in their order.
    ///   - ordering: in which order operations of one lane are started.
    ///   - maxConcurrent: how many handlers run at once at most; nil for any number.
    ///   - retry: when a handler that has thrown is started again.
    ///   - whenFailed: what becomes of operations that have failed for good; without it, those block their lane in orderings that
    ///     are serial, and are parked in `flat`.
    ///   - timeout: how long an attempt may take. Beyond that it has failed: its task is cancelled, and what it says later does not count.
    ///   - constraints: what knows of the constraints that handlers wait for by ``Outcome/wait(_:)``. For others only
    ///     ``QueuedOperation/retry()`` ends the waiting.
    ///   - retention: how long finished operations are kept; of several pipelines of a stack the longest holds.
    ///   - crashLimit: how often a process may end during one operation before that counts as failed.
    ///   - isSuspended: whether it begins suspended, as if ``suspend()`` had been called once.
    ///   - clock: what tells the time; that of the first pipeline of a stack holds for all of them.
    ///   - handler: does an operation, and says what came of it. What it throws fails the attempt.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen` or `invalidArgument`; what the store reports.
    public static func open<Payload: OperationPayload>(
        _ stack: ContextStack,
        named name: PipelineName,
        formerNames: [PipelineName] = [],
        ordering: PipelineOrdering = .flat,
        maxConcurrent: Int? = 8,
        retry: RetryPolicy = .standard,
        whenFailed: FailurePolicy? = nil,
        timeout: Duration? = nil,
        constraints: [any ConstraintObserver] = [],
        retention: FinishedRetention = .standard,
        crashLimit: Int = 5,
        isSuspended: Bool = false,
        clock: any PipelineClock = .system,
        handler: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome
    ) async throws -> Pipeline {
        if let maxConcurrent { try checkLimit(maxConcurrent) }
        let engine = try QueueEngine.of(stack, clock)
        let hub = EventHub()
        let consumer = Consumer(
            name: name,
            options: PipelineOptions(
                ordering: ordering,
                retry: retry,
                whenFailed: whenFailed ?? (ordering.isSerial ? .block : .park),
                crashLimit: crashLimit,
                timeout: timeout,
                retention: retention,
                constraints: constraints
            ),
            handler: { operation, engine in try await handler(Attempt(operation, engine)) },
            events: hub,
            maxConcurrent: maxConcurrent,
            suspensions: isSuspended ? 1 : 0
        )
        try await engine.add(consumer, formerNames: formerNames)
        for constraint in constraints { constraint.observe { [weak engine] in engine?.constraintsChanged() } }
        return Pipeline(name, engine, hub)
    }

    private static func checkLimit(_ limit: Int) throws {
        guard limit > 0 else {
            throw PipelineError(
                .invalidArgument,
                "A pipeline runs at least one operation at once, not \(limit). To run none, suspend it."
            )
        }
    }

    /// Whether it has not been closed. Another one of its name may be open by now.
    private var isOpen: Bool { engine.isOpen(name, hub) }

    // MARK: Suspension

    /// Starts no operations any more, until ``resume()`` is called as often. Those that run go on, and those that are just being
    /// claimed.
    ///
    /// - Returns: how often it is suspended now.
    @discardableResult
    public func suspend() -> Int { isOpen ? engine.suspend(name) : 0 }

    /// Takes one ``suspend()`` back; where there is none, nothing happens.
    ///
    /// - Returns: how often it is suspended now.
    @discardableResult
    public func resume() -> Int { isOpen ? engine.resume(name) : 0 }

    /// How often it is suspended.
    public var suspensions: Int { isOpen ? engine.suspensions(of: name) : 0 }

    /// How many handlers run at once at most; nil for any number.
    public var maxConcurrent: Int? { isOpen ? engine.limit(of: name) : nil }

    /// Changes how many handlers run at once. Those that run go on.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for less than one.
    public func setMaxConcurrent(_ limit: Int?) throws {
        if let limit { try Self.checkLimit(limit) }
        if isOpen { engine.setLimit(limit, of: name) }
    }

    // MARK: Taking over

    /// Moves here what is queued under names that no open pipeline of this stack has, in its order: of pipelines that a program declares
    /// no more. Called once all pipelines are open, most often on the one that is named ``PipelineName/default``.
    ///
    /// Pipelines that only another process has open are not known here: where there are such, name what is to be moved by `formerNames`.
    ///
    /// - Returns: the names that there were.
    /// - Throws: what the store reports.
    /// - Complexity: O(operations that are moved), and a look at the names of all.
    @discardableResult
    public func adoptUndeclared() async throws -> [PipelineName] { try await engine.adoptUndeclared(name) }

    // MARK: Observing

    /// What happens to operations here from now on. Each call gives a stream of its own, which keeps the newest 4096 events
    /// until they are read, and ends when the pipeline is closed.
    public var events: AsyncStream<PipelineEvent> { hub.subscribe() }

    /// Has a listener called at every event, before anything else happens in this pipeline.
    package func listen(_ listener: @escaping @Sendable (PipelineEvent) -> Void) { hub.listen(listener) }

    /// Waits until everything that is known has been looked at and written. Handlers may run still.
    package func settle() async { await engine.settle() }

    // MARK: Closing

    /// Starts no operations any more, and waits for the end of the handlers that run. Those that have not ended when the grace is over
    /// are cancelled and waited for; what they have not done by then is given back, and the attempt does not count.
    ///
    /// - Parameter grace: how long handlers may go on, by the clock of the pipeline.
    public func close(grace: Duration = .zero) async {
        if isOpen { await engine.remove(name, grace) }
    }
}

extension Attempt {
    /// The attempt of an operation that was claimed.
    init(_ operation: ClaimedOperation, _ engine: QueueEngine) throws {
        guard operation.type == Payload.operationType else {
            throw PipelineError(
                .undecodablePayload,
                "The operation has a payload of type \(operation.type), and pipeline \(operation.pipeline) handles "
                    + "\(Payload.operationType).",
                operations: [operation.claim.operation]
            )
        }
        do {
            payload = try Payload.decoded(operation.payload, version: operation.payloadVersion)
        } catch let error as PipelineError {
            throw error
        } catch {
            throw PipelineError(
                .undecodablePayload,
                "The payload cannot be read as \(Payload.operationType): \(error)",
                operations: [operation.claim.operation],
                underlying: error
            )
        }
        id = engine.stack.id(operation.claim.operation, of: QueuedOperation.self)
        number = operation.attempt
        pipeline = operation.pipeline
        lane = operation.lane
        claim = operation.claim
        self.engine = engine
    }
}
