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
public final class Pipeline: OperationRunner {
    /// The models that a stack is opened with, beside the application's own.
    public static let models: [any Model.Type] = [
        QueuedOperation.self, FinishedOperation.self, OperationDependency.self, OperationHold.self, OperationItem.self,
        PipelineWorker.self, PipelineRecord.self, PeriodicOperation.self,
        PipelineBudget.self, PipelineRetention.self, OperationTransition.self,
    ]

    /// The name.
    public let name: PipelineName
    /// By what the engine knows it.
    public let handle: RunnerHandle

    private init(_ name: PipelineName, _ handle: RunnerHandle) {
        self.name = name
        self.handle = handle
    }

    /// Begins to run the operations of a pipeline, those that are left from before among them.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - name: the name under which operations are queued, not the empty text. One pipeline of a name is open per stack.
    ///   - formerNames: names that the pipeline had before; operations that are queued under them are moved, in their order.
    ///   - ordering: in which order operations of one lane are started. If it was another one before, operations that are queued keep their former order
    ///     where this one leaves it open.
    ///   - maxConcurrent: how many handlers run at once at most; nil for any number.
    ///   - maxConcurrentPerLane: how many operations of one lane run at once at most, in all processes together; nil for any number. For the ordering
    ///     `flat`: of those of a full lane, the best one is started as soon as another one of the lane has ended.
    ///   - rateLimit: how many attempts may be started in a time, by all processes together; nil for any number.
    ///   - retry: when a handler that has thrown is started again.
    ///   - whenFailed: what becomes of operations that have failed for good; without it, those block their lane in orderings that
    ///     are serial, and are parked in `flat`.
    ///   - timeout: how long the handler of an attempt may take. Beyond that it has failed: its task is cancelled, and what it says later does not
    ///     count. What it was in time with to say, as changes of `.done`, is written down however long that takes.
    ///     A handler that does not heed its cancellation may then run beside the next attempt.
    ///   - constraints: what knows of the constraints that handlers wait for by ``Outcome/wait(_:)``. For others only
    ///     ``QueuedOperation/retry()`` ends the waiting.
    ///   - gate: a constraint that the whole pipeline waits for. While it is not satisfied, operations stay pending: none is claimed, and nothing is
    ///     written. Operations that run already go on.
    ///   - retention: how long finished operations are kept; of all pipelines and brokers that the store has known, those that are closed among them,
    ///     the longest holds.
    ///   - crashLimit: how often a process may end while one operation runs alone in it, before the operation counts as failed. If several ran, none of
    ///     them is counted, and each is tried alone: see ``QueuedOperation/suspicion``.
    ///   - isJournalled: whether each step of what is queued here is written down, as an ``OperationTransition``.
    ///   - isSuspended: whether it begins suspended, as if ``suspend()`` had been called once.
    ///   - shutdownGrace: how long handlers may go on when its service group shuts down.
    ///   - clock: what tells the time; that of the first pipeline of a stack holds for all of them.
    ///   - handler: does an operation, and says what came of it. What it throws fails the attempt. It runs in a task of its own, on threads that the
    ///     pipelines of the stack share, as many as there are cores: waits by `await`, and blocks none.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen` or `invalidArgument`; what the store reports.
    public static func open<Payload: OperationPayload>(
        _ stack: ContextStack,
        named name: PipelineName,
        formerNames: [PipelineName] = [],
        ordering: PipelineOrdering = .flat,
        maxConcurrent: Int? = 8,
        maxConcurrentPerLane: Int? = nil,
        rateLimit: RateLimit? = nil,
        retry: RetryPolicy = .standard,
        whenFailed: FailurePolicy? = nil,
        timeout: Duration? = nil,
        constraints: [any ConstraintObserver] = [],
        gate: PipelineGate? = nil,
        retention: FinishedRetention = .standard,
        crashLimit: Int = 5,
        isJournalled: Bool = false,
        isSuspended: Bool = false,
        shutdownGrace: Duration = .seconds(20),
        clock: any PipelineClock = .system,
        handler: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome
    ) async throws -> Pipeline {
        let handle = try await QueueEngine.open(
            Consumer(
                name: Consumer.name(of: name),
                scope: .pipeline(name),
                options: PipelineOptions(
                    ordering: ordering,
                    laneLimit: maxConcurrentPerLane,
                    retry: retry,
                    whenFailed: whenFailed ?? (ordering.isSerial ? .block : .park),
                    crashLimit: crashLimit,
                    timeout: timeout,
                    retention: retention,
                    constraints: constraints,
                    gate: gate,
                    rateLimit: rateLimit,
                    shutdownGrace: shutdownGrace,
                    isJournalled: isJournalled
                ),
                handler: Consumer.handler(handler),
                events: EventHub(PipelineTelemetry(stack, runner: name.rawValue)),
                maxConcurrent: maxConcurrent,
                suspensions: isSuspended ? 1 : 0
            ),
            formerNames: formerNames,
            on: stack,
            clock
        )
        return Pipeline(name, handle)
    }

    // MARK: Taking over

    /// Moves here what is queued under names that no open pipeline of this stack has, in its order: of pipelines that a program declares
    /// no more. Called once all pipelines are open, most often on the one that is named ``PipelineName/default``.
    ///
    /// Pipelines that only another process has open are not known here: where there are such, name what is to be moved by `formerNames`.
    ///
    /// - Returns: the names that there were.
    /// - Throws: ``PipelineError`` with `closed` where this pipeline is; what the store reports.
    /// - Complexity: O(operations that are moved), and a look at the names of all.
    @discardableResult
    public func adoptUndeclared() async throws -> [PipelineName] {
        try await handle.engine.adoptUndeclared(name, handle.id)
    }
}

/// The payload of an operation cannot be read: no further attempt would find it otherwise.
struct UnreadableOperation: Error, CustomStringConvertible {
    let error: any Error

    var description: String { "\(error)" }
}

extension Attempt {
    /// The attempt of an operation that was claimed.
    ///
    /// - Throws: ``UnreadableOperation``, which is told from what a handler throws that reads others.
    static func reading(_ operation: ClaimedOperation, _ engine: QueueEngine) throws -> Attempt {
        do { return try Attempt(operation, engine) } catch { throw UnreadableOperation(error: error) }
    }

    private init(_ operation: ClaimedOperation, _ engine: QueueEngine) throws {
        guard operation.type.hasSameBytes(as: Payload.operationType) else {
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
