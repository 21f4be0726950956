internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOSSL
import StrataRemotes

/// The pooled connections of one or more remotes. They stay open between requests.
///
/// Isolation: any. ``close()`` closes the connections. Otherwise they close when the last reference to this object is
/// released.
public final class HTTPConnections: Sendable {
    let options: HTTPOptions
    private let client: HTTPClient
    private let gate: RequestGate

    /// Creates a connection pool with these options. It does not open a connection yet.
    ///
    /// - Throws: `RemoteError` with `misconfigured` if the file of certificate authorities cannot be read.
    public init(_ options: HTTPOptions = HTTPOptions()) throws {
        self.options = options
        gate = RequestGate(limit: options.maximumConnections)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: try Self.configuration(options))
    }

    deinit {
        // The client requires a shutdown, and a second one is harmless. The task retains the client, not this object.
        let client = client
        Task { try? await client.shutdown() }
    }

    /// Closes all connections. Running requests fail, and later requests throw `misconfigured`. May be called more than
    /// once.
    public func close() async {
        // The client throws here only if it is closed already.
        try? await client.shutdown()
    }

    /// Sends a request, and returns the answer as soon as its head has arrived.
    ///
    /// - Parameter complete: changes the request once a place is free, directly before it is sent.
    /// - Throws: `RemoteError`, `CancellationError`. An HTTP status never throws here.
    func send(
        _ request: HTTPRequest,
        completing complete: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> HTTPAnswer {
        let ticket = try await gate.enter(isSending: request.body.isStream)
        var request = request
        complete(&request)
        let target = request.target
        do {
            let response = try await client.execute(try request.forClient(), deadline: .distantFuture)
            options.logger?.trace("\(request.method) \(target.path): \(response.status.code)")
            let answer = HTTPAnswer(response, to: request, ticket: ticket)
            if request.method == "HEAD" { await answer.discard() }
            return answer
        } catch {
            let mapped = RemoteError.ofConnection(error, host: target.authority, key: request.key)
            options.logger?.trace("\(request.method) \(target.path): \(mapped)")
            throw mapped
        }
    }

    private static func configuration(_ options: HTTPOptions) throws -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let authorities = options.certificateAuthorities {
            do {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities.path))
            } catch {
                throw RemoteError(
                    .misconfigured,
                    "The certificate authorities in '\(authorities.path)' cannot be read.",
                    underlying: error
                )
            }
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // Following a redirect would send credentials and bodies to a server that the caller has not named.
            redirectConfiguration: .disallow,
            timeout: .init(
                connect: TimeAmount(options.connectTimeout),
                read: TimeAmount(options.idleTimeout),
                write: TimeAmount(options.idleTimeout)
            ),
            // Many servers close an idle connection after five seconds. A shorter time here avoids requests on a
            // connection that the server is closing.
            connectionPool: .init(
                idleTimeout: .seconds(4),
                // The gate limits requests. The client's own limit is higher, because a request that waits inside the
                // client would count as connecting.
                concurrentHTTP1ConnectionsPerHostSoftLimit: max(options.maximumConnections, 1) * 4
            ),
            proxy: options.proxy.map { .server(host: $0.host, port: $0.port) },
            decompression: .disabled
        )
        // The caller decides when to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        return configuration
    }
}

extension TimeAmount {
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self = overflow ? .nanoseconds(.max / 4) : .nanoseconds(min(whole, .max / 4) + attoseconds / 1_000_000_000)
    }
}
