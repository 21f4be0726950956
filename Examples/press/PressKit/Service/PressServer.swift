import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The service as a group: the pipelines, and the server in front of them.
struct PressServer: Sendable {
    let press: Press
    let metrics: PrometheusMetrics
    let logger: Logger
    /// Is called with the port, once the server listens.
    var onListening: @Sendable (_ port: Int) async -> Void = { _ in }

    func application() -> some ApplicationProtocol {
        let (settings, onListening) = (press.settings, onListening)
        return Application(
            router: PressRouter(press, metrics: metrics, logger: logger).build(),
            server: .http1(configuration: .init(idleTimeout: .seconds(Int64(settings.idleTimeout)))),
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port),
                serverName: "press",
                availableConnectionsDelegate: MaximumAvailableConnections(settings.maximumConnections, logger: logger)
            ),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? settings.port) },
            logger: logger
        )
    }

    /// Serves until a signal arrives.
    ///
    /// A group shuts down the last service first. So the server stops accepting connections, and ends the running
    /// requests, before the pipelines end. Requests that take longer than the grace are cancelled.
    func run() async throws {
        let services: [any Service] = press.services + [application()]
        var configuration = ServiceGroupConfiguration(
            services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = press.settings.shutdownGrace
        try await ServiceGroup(configuration: configuration).run()
    }
}
