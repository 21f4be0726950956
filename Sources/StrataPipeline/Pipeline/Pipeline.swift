public import Strata

/// A durable queue of operations in the application's store, with the handler that runs them, or with one handler for
/// each type of payload.
///
/// ```swift
/// let uploads = try await Pipeline.open(stack, named: .uploads) { (attempt: Attempt<Upload>) in
///     try await send(attempt.payload.file, key: attempt.id)
///     return .done
/// }
/// ```
///
/// Each operation runs at least once. It leaves the queue when its handler has returned an outcome that ends it. If a
/// process ends before the outcome is stored, another process starts the operation again under the same id.
///
/// A pipeline runs until the pipeline or its stack is closed. Until then, the pipeline keeps the stack open.
///
/// - Isolation: any.
public final class Pipeline: OperationRunner {
    /// The models that a stack must be opened with, in addition to the application's models.
    public static let models: [any Model.Type] = [
        QueuedOperation.self, FinishedOperation.self, OperationDependency.self, OperationHold.self, OperationItem.self,
        PipelineWorker.self, PipelineRecord.self, PeriodicOperation.self,
        PipelineBudget.self, LaneBudget.self, PipelineRetention.self, OperationTransition.self, OperationTrace.self,
        OperationSettings.self, OperationUniqueness.self, DebouncedOperation.self, OperationTag.self,
        PipelineDeclaration.self, PipelineOverride.self, ScheduleRun.self,
    ]

    /// The name of the pipeline.
    public let name: PipelineName
    /// The pipeline's registration with the engine.
    @_documentation(visibility: internal)
    public let handle: RunnerHandle

    private init(_ name: PipelineName, _ handle: RunnerHandle) {
        self.name = name
        self.handle = handle
    }

    /// Opens a pipeline and begins to run its operations, including operations left from earlier runs.
    ///
    /// An operation with another type of payload fails permanently at its first attempt, as an operation with an
    /// unreadable payload does. It keeps its payload.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - name: the name under which operations are queued; not the empty text. A stack can have one open pipeline of
    ///     a name.
    ///   - previousNames: earlier names of the pipeline. Operations queued under these names are moved to this pipeline
    ///     and keep their order.
    ///   - gate: a constraint that the whole pipeline waits for. While it is not satisfied, operations stay pending: no
    ///     operation is claimed, and nothing is written. Running operations continue.
    ///   - options: the order, the limits, and the treatment of failures.
    ///   - handler: runs an operation, and returns its outcome. An error that it throws fails the attempt. It runs in a
    ///     separate task, on threads that the pipelines of the stack share. There are as many threads as cores, so the
    ///     handler must wait with `await` and must not block a thread.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`; the
    ///   store's errors.
    public static func open<Payload: OperationPayload>(
        _ stack: ContextStack,
        named name: PipelineName,
        previousNames: [PipelineName] = [],
        gate: PipelineGate? = nil,
        options: PipelineOptions = PipelineOptions(),
        handler: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome
    ) async throws -> Pipeline {
        try await open(
            stack,
            named: name,
            previousNames: previousNames,
            gate: gate,
            options: options,
            PayloadHandlers { $0.on(handler) },
            claimsAllTypes: true
        )
    }

    /// Opens a pipeline that takes several types of payloads, each with its own handler. ``PayloadHandlers`` shows an
    /// example.
    ///
    /// Order, lanes, dependencies and limits apply to all operations of the pipeline alike, whatever their types.
    ///
    /// An operation whose type no handler takes is not claimed. It stays queued, and a process that has a handler for
    /// the type runs it. So processes of an earlier release may continue while those of the next one start.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``models``.
    ///   - name: the name under which operations are queued; not the empty text. A stack can have one open pipeline of
    ///     a name.
    ///   - previousNames: earlier names of the pipeline. Operations queued under these names are moved to this pipeline
    ///     and keep their order.
    ///   - gate: a constraint that the whole pipeline waits for.
    ///   - options: the order, the limits, and the treatment of failures.
    ///   - handlers: registers the handlers. It is called once, before this method returns.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`, also
    ///   if there is no handler, or a second one for a type; errors of `handlers`; the store's errors.
    public static func open(
        _ stack: ContextStack,
        named name: PipelineName,
        previousNames: [PipelineName] = [],
        gate: PipelineGate? = nil,
        options: PipelineOptions = PipelineOptions(),
        handlers: @Sendable (inout PayloadHandlers) throws -> Void
    ) async throws -> Pipeline {
        try await open(
            stack,
            named: name,
            previousNames: previousNames,
            gate: gate,
            options: options,
            PayloadHandlers(handlers),
            claimsAllTypes: false
        )
    }

    private static func open(
        _ stack: ContextStack,
        named name: PipelineName,
        previousNames: [PipelineName],
        gate: PipelineGate?,
        options: PipelineOptions,
        _ handlers: PayloadHandlers,
        claimsAllTypes: Bool
    ) async throws -> Pipeline {
        let handle = try await QueueEngine.open(
            Consumer(
                name: Consumer.name(of: name),
                scope: .pipeline(name),
                options: options,
                gate: gate,
                handlers: handlers.all,
                claimsAllTypes: claimsAllTypes,
                events: EventHub(PipelineTelemetry(stack, runner: name.rawValue))
            ),
            previousNames: previousNames,
            on: stack
        )
        return Pipeline(name, handle)
    }

    // MARK: Taking over

    /// Moves operations of undeclared pipelines to this pipeline, in their order: all operations queued under names
    /// that no open pipeline of this stack has. Call it after all pipelines are open, usually on the pipeline named
    /// ``PipelineName/default``.
    ///
    /// The stack does not know pipelines that only another process has open. If there are such pipelines, list the
    /// names to be moved in `previousNames` instead.
    ///
    /// - Returns: the names from which operations were moved.
    /// - Throws: ``PipelineError`` with `closed` if this pipeline is closed; the store's errors.
    /// - Complexity: O(moved operations), and a lookup of the names of all queues.
    @discardableResult
    public func adoptOrphanedOperations() async throws -> [PipelineName] {
        try await handle.engine.adoptOrphanedOperations(name, handle.id)
    }
}

/// An operation's payload cannot be read. A further attempt would fail the same way.
struct UnreadableOperation: Error, CustomStringConvertible {
    let error: any Error

    var description: String { "\(error)" }
}

extension Attempt {
    /// Creates the attempt of a claimed operation with a payload of this type.
    ///
    /// - Throws: ``UnreadableOperation``. This type distinguishes the operation's own payload from other payloads that
    ///   a handler reads and whose errors it throws.
    init(_ operation: ClaimedOperation, _ engine: QueueEngine) throws {
        do {
            payload = try Payload.decoded(operation.payload, version: operation.payloadVersion)
        } catch let error as PipelineError {
            throw UnreadableOperation(error: error)
        } catch {
            throw UnreadableOperation(
                error: PipelineError(
                    .undecodablePayload,
                    "The payload cannot be read as \(Payload.operationType): \(error)",
                    operations: [operation.claim.operation],
                    underlying: error
                )
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
