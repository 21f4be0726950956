public import Foundation
public import Logging

/// How a remote speaks to its server.
public struct HTTPOptions: Sendable {
    /// A proxy that requests go through.
    public struct Proxy: Hashable, Sendable {
        /// Its name or address.
        public var host: String
        /// Where it listens.
        public var port: Int

        /// A proxy that is asked by `CONNECT`, for HTTP too.
        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// How long making a connection may take, TLS included. Behind that the server is `unreachable`.
    public var connectTimeout: Duration
    /// How long nothing may come, or go, while an answer or the rest of a body is waited for. Behind that the answer is lost.
    public var idleTimeout: Duration
    /// How many requests are on their way at once, a download until its last byte; others wait. One of the places is kept for those that
    /// send no content, which an upload may read from. At least 2.
    public var maximumConnections: Int
    /// A PEM file of certificates that are trusted in place of those of the system.
    public var certificateAuthorities: URL?
    /// The proxy; none by default, whatever the environment says.
    public var proxy: Proxy?
    /// Where requests are logged, at the level `trace`: method, place and status, no headers and no credentials.
    public var logger: Logger?

    /// Ten seconds for a connection, sixty for silence, 16 at once.
    public init(
        connectTimeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(60),
        maximumConnections: Int = 16,
        certificateAuthorities: URL? = nil,
        proxy: Proxy? = nil,
        logger: Logger? = nil
    ) {
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
        self.maximumConnections = maximumConnections
        self.certificateAuthorities = certificateAuthorities
        self.proxy = proxy
        self.logger = logger
    }
}
