/// The handlers of a pipeline or broker that takes several types of payloads: one for each type.
///
/// ```swift
/// let work = try await Pipeline.open(stack, named: .work) { handlers in
///     handlers.on(Upload.self) { upload, attempt in
///         try await send(upload.file, key: attempt.id)
///         return .done
///     }
///     handlers.on(Notify.self) { notify, attempt in
///         try await tell(notify.person, key: attempt.id)
///         return .done
///     }
/// }
/// ```
///
/// A handler is found by the name under which the type is stored, ``OperationPayload/operationType``. So types can be
/// renamed in the program, as long as they keep this name.
///
/// Operations of types without a handler are not claimed. They stay queued, and processes that have a handler run them.
/// Such an operation has the wait reason ``WaitReason/noHandler(type:)``, and a warning is logged once for each type.
/// If its order comes before other operations of its lane, they wait for it.
public struct PayloadHandlers: Sendable {
    private(set) var all: [Consumer.Handler] = []

    init(_ register: (inout PayloadHandlers) throws -> Void) rethrows { try register(&self) }

    /// Registers the handler of one type of payload. Opening throws if a type has two handlers.
    ///
    /// - Parameters:
    ///   - type: the type of the payload. For objects that are queued themselves it is a ``QueuedItem``.
    ///   - handler: runs an operation, and returns its outcome. It receives the payload and the attempt. An error that
    ///     it throws fails the attempt. It must wait with `await` and must not block a thread.
    public mutating func on<Payload: OperationPayload>(
        _ type: Payload.Type,
        run handler: @escaping @Sendable (Payload, Attempt<Payload>) async throws -> Outcome
    ) {
        on { (attempt: Attempt<Payload>) in try await handler(attempt.payload, attempt) }
    }

    /// Registers a ``TaskHandler`` as the handler of its type of payload. Opening throws if a type has two handlers.
    public mutating func on<Handler: TaskHandler>(_ handler: Handler) { on(handler.handle) }

    mutating func on<Payload: OperationPayload>(
        _ handler: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome
    ) {
        all.append(Consumer.handler(handler))
    }
}
