public import Strata

/// One handler for a family of queues. Each queue runs in order, concurrently with the others.
///
/// ```swift
/// let broker = try await TaskBroker.open(stack, handles: { $0.hasPrefix("chat.") }, handler: MessageSender())
/// try await stack.background { context in
///     context.enqueue(Message(text: "Hello"), in: "chat.bob")
///     try context.commit()
/// }
/// ```
///
/// A queue exists as soon as a task is queued under its name, and needs no other declaration. A queue whose first task
/// has failed or waits does not block other queues. If more tasks are ready than may run at once, the queues take
/// turns, whatever the priorities of their tasks. Priorities apply within a queue that is not serial.
///
/// - Isolation: any.
public final class TaskBroker: OperationRunner {
    /// The name of the broker in errors and logs.
    public let name: String
    /// The broker's registration with the engine.
    public let handle: RunnerHandle

    private init(_ name: String, _ handle: RunnerHandle) {
        self.name = name
        self.handle = handle
    }

    /// Opens a broker and begins to run the tasks of a family of queues, including tasks left from earlier runs.
    ///
    /// A queue must belong to one broker or pipeline. If a stored queue name would be taken twice, opening the second
    /// runner throws. If such a name appears later, its tasks are held and both runners send
    /// ``PipelineEvent/queueHeld(_:_:)``, until one of them is closed.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``Pipeline/models``.
    ///   - name: the name of the broker in errors and logs, and the key of its rate limit in the store; by default the
    ///     name of the handler's type. A stack can have one open broker of a name.
    ///   - handles: decides from a queue's name alone whether this broker takes the queue. It must always give the same
    ///     answer, return at once, and not use the stack.
    ///   - ordering: the order in which the tasks of one queue start.
    ///   - maxConcurrent: the greatest number of tasks that run at once, of all queues together; nil for any number.
    ///   - maxConcurrentPerLane: the greatest number of tasks of one queue, or of each lane of a queue with lanes, that
    ///     run at once, in all processes together; nil for any number. Only for the ordering `flat`.
    ///   - rateLimit: how many attempts may start in an interval, by the brokers of this name in all processes
    ///     together; nil for any number.
    ///   - retry: when a task is tried again after its handler has thrown.
    ///   - onFailure: what happens to tasks that have failed permanently. By default they block their queue in serial
    ///     orderings, and are set aside in `flat`.
    ///   - timeout: how long the handler of an attempt may take. After this time the attempt has failed: its task is
    ///     cancelled, and a later outcome does not count. If the handler returns `.done` with changes in time, the
    ///     changes are committed however long the commit takes. A handler that ignores its cancellation may run at the
    ///     same time as the next attempt.
    ///   - constraints: sources of the constraints that handlers wait for by ``Outcome/wait(_:)``.
    ///   - retention: how long finished tasks are kept. The longest retention of all pipelines and brokers that the
    ///     store has known applies, including closed ones.
    ///   - maxCrashes: how often a process may end while one task runs alone in it, before this task counts as failed.
    ///     If several tasks were running, the end does not count for any of them, and each is then tried alone.
    ///   - recordsTransitions: whether each status change of this broker's tasks is recorded as an ``OperationTransition``.
    ///   - isSuspended: whether the broker begins suspended, as after one call of ``OperationRunner/suspend()``.
    ///   - shutdownGrace: how long handlers may continue when the broker's service group shuts down.
    ///   - clock: the source of time. The clock of the first pipeline or broker of a stack applies to all of them.
    ///   - handler: runs the tasks.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`; the
    ///   store's errors.
    public static func open<Handler: TaskHandler>(
        _ stack: ContextStack,
        named name: String? = nil,
        handles: @escaping @Sendable (PipelineName) -> Bool,
        ordering: PipelineOrdering = .fifo,
        maxConcurrent: Int? = 8,
        maxConcurrentPerLane: Int? = nil,
        rateLimit: RateLimit? = nil,
        retry: RetryPolicy = .standard,
        onFailure: FailurePolicy? = nil,
        timeout: Duration? = nil,
        constraints: [any ConstraintSource] = [],
        retention: FinishedRetention = .standard,
        maxCrashes: Int = 5,
        recordsTransitions: Bool = false,
        isSuspended: Bool = false,
        shutdownGrace: Duration = .seconds(20),
        clock: any PipelineClock = .system,
        handler: Handler
    ) async throws -> TaskBroker {
        let name = name ?? "\(Handler.self)"
        let handle = try await QueueEngine.open(
            Consumer(
                name: "broker '\(name)'",
                scope: .queues(handles),
                options: PipelineOptions(
                    ordering: ordering,
                    laneLimit: maxConcurrentPerLane,
                    retry: retry,
                    onFailure: onFailure ?? (ordering.isSerial ? .blockLane : .setAside),
                    maxCrashes: maxCrashes,
                    timeout: timeout,
                    retention: retention,
                    constraints: constraints,
                    rateLimit: rateLimit,
                    shutdownGrace: shutdownGrace,
                    recordsTransitions: recordsTransitions
                ),
                handler: Consumer.handler(handler.handle),
                events: EventHub(PipelineTelemetry(stack, runner: name)),
                maxConcurrent: maxConcurrent,
                suspensions: isSuspended ? 1 : 0
            ),
            on: stack,
            clock
        )
        return TaskBroker(name, handle)
    }
}
