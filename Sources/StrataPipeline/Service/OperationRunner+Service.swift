public import ServiceLifecycle

extension OperationRunner {
    /// Runs until the runner is closed or its service group shuts down. On shutdown the runner starts no more
    /// operations, lets handlers continue for `shutdownGrace`, and returns unfinished operations to the queue. If the
    /// task is cancelled, handlers are cancelled at once.
    public func run() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let listener = listen { _ in
        } onEnd: {
            continuation.finish()
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            for await _ in stream {}
        } onCancelOrGracefulShutdown: {
            continuation.finish()
        }
        unlisten(listener)
        await close(grace: Task.isCancelled ? .zero : handle.shutdownGrace)
    }
}

extension Pipeline: Service {}
extension TaskBroker: Service {}
