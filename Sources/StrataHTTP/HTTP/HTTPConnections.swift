internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOSSL
import StrataCloud

/// The connections of one or several remotes, which are kept open between requests.
///
/// Isolation: any. ``close()`` ends them; those that are forgotten are closed when nobody uses them any more.
public final class HTTPConnections: Sendable {
    let options: HTTPOptions
    private let client: HTTPClient
    private let gate: RequestGate

    /// Connections as options say. None is opened yet.
    ///
    /// - Throws: ``RemoteError`` with `misconfigured` where the certificate authorities cannot be read.
    public init(_ options: HTTPOptions = HTTPOptions()) throws {
        self.options = options
        gate = RequestGate(limit: options.maximumConnections)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: try Self.configuration(options))
    }

    deinit {
        // A client must be shut down, and may be twice. The task holds it, not this.
        let client = client
        Task { try? await client.shutdown() }
    }

    /// Ends all connections. Requests that are under way fail, later ones throw `misconfigured`. May be called more than once.
    public func close() async {
        // All that it throws is that it is closed already.
        try? await client.shutdown()
    }

    /// Sends a request, and gives the answer as soon as its head is there.
    ///
    /// - Parameter complete: what is done to it last, when it has its turn.
    /// - Throws: `RemoteError`, `CancellationError`. A status is never an error here.
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
            // A redirect would send credentials and bodies to somebody whom nobody has named.
            redirectConfiguration: .disallow,
            timeout: .init(
                connect: TimeAmount(options.connectTimeout),
                read: TimeAmount(options.idleTimeout),
                write: TimeAmount(options.idleTimeout)
            ),
            // Shorter than the five seconds after which many servers close an idle connection, which a request would meet.
            connectionPool: .init(
                idleTimeout: .seconds(4),
                // The gate is what limits. Waiting in the client counts as connecting.
                concurrentHTTP1ConnectionsPerHostSoftLimit: max(options.maximumConnections, 1) * 4
            ),
            proxy: options.proxy.map { .server(host: $0.host, port: $0.port) },
            decompression: .disabled
        )
        // Whoever asked decides when to ask again.
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
