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
    @_documentation(visibility: internal)
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
    ///     name of the handler's type. Not the empty text. A stack can have one open broker of a name.
    ///   - handles: decides from a queue's name alone whether this broker takes the queue. It must always give the same
    ///     answer, return at once, and not use the stack.
    ///   - options: the order, the limits, and the treatment of failures. Without an ordering, each queue runs `fifo`.
    ///   - handler: runs the tasks. A task with another type of payload fails permanently at its first attempt.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`; the
    ///   store's errors.
    public static func open<Handler: TaskHandler>(
        _ stack: ContextStack,
        named name: String? = nil,
        handles: @escaping @Sendable (PipelineName) -> Bool,
        options: PipelineOptions = PipelineOptions(),
        handler: Handler
    ) async throws -> TaskBroker {
        try await open(
            stack,
            named: name ?? "\(Handler.self)",
            handles: handles,
            options: options,
            PayloadHandlers { $0.on(handler) },
            claimsAllTypes: true
        )
    }

    /// Opens a broker whose queues take several types of payloads, each with its own handler.
    ///
    /// ```swift
    /// let chat = try await TaskBroker.open(stack, named: "chat", handles: { $0.hasPrefix("chat.") }) { handlers in
    ///     handlers.on(MessageSender())
    ///     handlers.on(Receipt.self) { receipt, attempt in
    ///         try await send(receipt, to: attempt.pipeline)
    ///         return .done
    ///     }
    /// }
    /// ```
    ///
    /// The order of a queue applies to all of its tasks, whatever their types. A task whose type no handler takes is
    /// not claimed. It stays queued, and a process that has a handler for the type runs it.
    ///
    /// - Parameters:
    ///   - stack: a stack that was opened with ``Pipeline/models``.
    ///   - name: the name of the broker in errors and logs, and the key of its rate limit in the store. Not the empty
    ///     text. A stack can have one open broker of a name.
    ///   - handles: decides from a queue's name alone whether this broker takes the queue. It must always give the same
    ///     answer, return at once, and not use the stack.
    ///   - options: the order, the limits, and the treatment of failures. Without an ordering, each queue runs `fifo`.
    ///   - handlers: registers the handlers. It is called once, before this method returns.
    /// - Throws: ``PipelineError`` with `modelsMissing`, `alreadyOpen`, `queueClaimedTwice` or `invalidArgument`, also
    ///   if there is no handler, or a second one for a type; errors of `handlers`; the store's errors.
    public static func open(
        _ stack: ContextStack,
        named name: String,
        handles: @escaping @Sendable (PipelineName) -> Bool,
        options: PipelineOptions = PipelineOptions(),
        handlers: @Sendable (inout PayloadHandlers) throws -> Void
    ) async throws -> TaskBroker {
        try await open(
            stack,
            named: name,
            handles: handles,
            options: options,
            PayloadHandlers(handlers),
            claimsAllTypes: false
        )
    }

    private static func open(
        _ stack: ContextStack,
        named name: String,
        handles: @escaping @Sendable (PipelineName) -> Bool,
        options: PipelineOptions,
        _ handlers: PayloadHandlers,
        claimsAllTypes: Bool
    ) async throws -> TaskBroker {
        guard !name.utf8.isEmpty else {
            throw PipelineError(.invalidArgument, "The name of the broker is empty. Give it a name.")
        }
        let handle = try await QueueEngine.open(
            Consumer(
                name: "broker '\(name)'",
                scope: .queues(handles),
                options: options,
                handlers: handlers.all,
                claimsAllTypes: claimsAllTypes,
                events: EventHub(PipelineTelemetry(stack, runner: name))
            ),
            on: stack
        )
        return TaskBroker(name, handle)
    }
}
