public import Foundation
public import Logging

/// Timeouts, limits and trust settings of the connections to a server.
public struct HTTPOptions: Sendable {
    /// An HTTP proxy that carries all requests.
    public struct Proxy: Hashable, Sendable {
        /// The proxy's name or address.
        public var host: String
        /// The port that the proxy listens on.
        public var port: Int

        /// Creates a proxy. Requests ask it for a tunnel by `CONNECT`, also for plain HTTP.
        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// The longest time that opening a connection may take, including the TLS handshake. After that time the request
    /// fails with `unreachable`.
    public var connectTimeout: Duration
    /// The longest time without any byte received or sent while a request waits for its answer or for the rest of a
    /// body. After that time the answer counts as lost.
    public var idleTimeout: Duration
    /// The number of requests that may run at the same time, at least 2. Further requests wait.
    ///
    /// A download counts until its last byte. One place is reserved for requests that send no content, because an
    /// upload may have to read from the same server.
    public var maximumConnections: Int
    /// A PEM file with certificates that replace the system's trusted certificates.
    public var certificateAuthorities: URL?
    /// The proxy. By default no proxy is used, even if the environment names one.
    public var proxy: Proxy?
    /// Logs the method, location and status of each request at level `trace`. Headers and credentials are not logged.
    public var logger: Logger?

    /// Creates options. The defaults are 10 seconds to connect, 60 seconds of silence, and 16 requests at a time.
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
