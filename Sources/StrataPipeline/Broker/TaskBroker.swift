public import Strata

/// One handler for a family of queues, each of which is done in its own order, side by side with the others.
///
/// ```swift
/// let broker = try await TaskBroker.open(stack, handles: { $0.hasPrefix("chat.") }, handler: MessageSender())
/// try await stack.background { context in
///     context.enqueue(Message(text: "Hello"), in: "chat.bob")
///     try context.commit()
/// }
/// ```
///
/// A queue is there as soon as something is queued under its name, and needs no other declaration. One that is stuck, because its first
/// task has failed or waits, keeps no other queue waiting. Where there is more to do than may run at once, queues have
/// their turns one after the other, whatever the priorities of their tasks are; those count within a queue that is not serial.
///
/// - Isolation: any.
public final class TaskBroker: OperationRunner {
    /// What it is called in errors and logs.
    public let name: String
    /// By what the engine knows it.
    public let handle: RunnerHandle

    private init(_ name: String, _ handle: RunnerHandle) {
        self.name = name
        self.handle = handle
    }

    /// Begins to run the tasks of a family of queues, those that are left from before among them.
    ///
    /// Two brokers, or a broker and a pipeline, that take the same queue are a mistake: of names that are in the store, opening the second
    /// one throws. Of a name that comes up later the tasks are held, and both send ``PipelineEvent/queueHeld(_:_:)``, until one of
    /// them is closed.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``Pipeline/models``.
    ///   - name: what it is called in errors and logs, and what the store knows its rate limit by; without it, the name of the handler's type.
    ///     One broker of a name is open per stack.
    ///   - handles: whether a queue is this broker's, by its name alone: always the same answer, at once, and without using the stack.
    ///   - ordering: in which order the tasks of one queue are started.
    ///   - maxConcurrent: how many tasks run at once at most, of all queues together; nil for any number.
    ///   - maxConcurrentPerLane: how many tasks of one queue, or of each lane of it where it has lanes, run at once at most, in all processes together;
    ///     nil for any number. For the ordering `flat`.
    ///   - rateLimit: how many attempts may be started in a time, by the brokers of this name of all processes together; nil for any number.
    ///   - retry: when a task whose handler has thrown is started again.
    ///   - whenFailed: what becomes of tasks that have failed for good; without it, those block their queue in orderings that are serial,
    ///     and are parked in `flat`.
    ///   - timeout: how long the handler of an attempt may take. Beyond that it has failed: its task is cancelled, and what it says later does not
    ///     count. What it was in time with to say, as changes of `.done`, is written down however long that takes.
    ///     A handler that does not heed its cancellation may then run beside the next attempt.
    ///   - constraints: what knows of the constraints that handlers wait for by ``Outcome/wait(_:)``.
    ///   - retention: how long finished tasks are kept; of all pipelines and brokers that the store has known, those that are closed among them, the
    ///     longest holds.
    ///   - crashLimit: how often a process may end while one task runs alone in it, before the task counts as failed. If several ran, none of them is
    ///     counted, and each is tried alone.
    ///   - isJournalled: whether each step of what is queued here is written down, as an ``OperationTransition``.
    ///   - isSuspended: whether it begins suspended, as if ``OperationRunner/suspend()`` had been called once.
    ///   - shutdownGrace: how long handlers may go on when its service group shuts down.
    ///   - clock: what tells the time; that of the first pipeline or broker of a stack holds for all of them.
    ///   - handler: does the tasks.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`; what the store reports.
    public static func open<Handler: TaskHandler>(
        _ stack: ContextStack,
        named name: String? = nil,
        handles: @escaping @Sendable (PipelineName) -> Bool,
        ordering: PipelineOrdering = .fifo,
        maxConcurrent: Int? = 8,
        maxConcurrentPerLane: Int? = nil,
        rateLimit: RateLimit? = nil,
        retry: RetryPolicy = .standard,
        whenFailed: FailurePolicy? = nil,
        timeout: Duration? = nil,
        constraints: [any ConstraintObserver] = [],
        retention: FinishedRetention = .standard,
        crashLimit: Int = 5,
        isJournalled: Bool = false,
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
                    whenFailed: whenFailed ?? (ordering.isSerial ? .block : .park),
                    crashLimit: crashLimit,
                    timeout: timeout,
                    retention: retention,
                    constraints: constraints,
                    rateLimit: rateLimit,
                    shutdownGrace: shutdownGrace,
                    isJournalled: isJournalled
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
