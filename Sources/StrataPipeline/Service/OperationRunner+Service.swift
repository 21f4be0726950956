public import ServiceLifecycle

extension OperationRunner {
    /// Waits until it is closed, or its service group shuts down: then it starts no operations any more, lets handlers go on as long as
    /// `shutdownGrace` says, and gives back what they have not done. Where the task is cancelled, handlers are at once.
    public func run() async throws {
        let (stream, continuation) = handle.hub.end()
        await withTaskCancellationOrGracefulShutdownHandler {
            for await _ in stream {}
        } onCancelOrGracefulShutdown: {
            continuation.finish()
        }
        await close(grace: Task.isCancelled ? .zero : handle.shutdownGrace)
    }
}

extension Pipeline: Service {}
extension TaskBroker: Service {}
