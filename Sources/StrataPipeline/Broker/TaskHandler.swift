/// Runs the tasks of a family of queues.
///
/// ```swift
/// struct MessageSender: TaskHandler {
///     let server: Connection
///
///     func handle(_ attempt: Attempt<Message>) async throws -> Outcome {
///         try await server.send(attempt.payload.text, to: attempt.payload.buddy, id: attempt.id)
///         return .done
///     }
/// }
/// ```
public protocol TaskHandler<Payload>: Sendable {
    /// The payload type of the tasks.
    associatedtype Payload: OperationPayload

    /// Runs one task, and returns its outcome. An error that it throws fails the attempt.
    func handle(_ attempt: Attempt<Payload>) async throws -> Outcome
}
