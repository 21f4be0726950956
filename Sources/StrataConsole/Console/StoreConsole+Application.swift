import Hummingbird
import HummingbirdCore
import ServiceLifecycle

extension StoreConsole {
    /// An application that has nothing but this console, at the root of its address.
    ///
    /// - Parameters:
    ///   - host: the name or address to listen on.
    ///   - port: the port; 0 for any free one.
    ///   - onStart: receives the port when the server accepts connections.
    public func makeApplication(
        host: String = "127.0.0.1",
        port: Int = 8080,
        onStart: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) -> Application<RouterResponder<BasicRequestContext>> {
        let router = Router()
        addRoutes(to: router)
        return Application(
            router: router,
            // Heartbeats keep live updates from being idle.
            server: .http1(configuration: .init(idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(256, logger: options.logger)
            ),
            onServerRunning: { channel in await onStart(channel.localAddress?.port ?? port) },
            logger: options.logger
        )
    }

    /// Serves the console until the task is cancelled. Then the server stops accepting connections, ends live updates,
    /// and completes the running requests. Requests that take longer than 10 seconds are then cancelled.
    ///
    /// - Parameter onStart: receives the port when the server accepts connections.
    /// - Throws: the system's error if the address cannot be used; `CancellationError` after a cancellation.
    package func serve(
        host: String,
        port: Int,
        onStart: @escaping @Sendable (_ port: Int) async -> Void
    ) async throws {
        let application = makeApplication(host: host, port: port, onStart: onStart)
        var configuration = ServiceGroupConfiguration(services: [application], logger: options.logger)
        // A client that does not read its answer would otherwise keep the server.
        configuration.maximumGracefulShutdownDuration = .seconds(10)
        let group = ServiceGroup(configuration: configuration)
        // A separate task, because a cancelled group would not complete running requests.
        let running = Task { try await group.run() }
        try await withTaskCancellationHandler {
            try await running.value
        } onCancel: {
            Task { await group.triggerGracefulShutdown() }
        }
        try Task.checkCancellation()
    }
}
