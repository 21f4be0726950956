public import Foundation
public import StrataCloud

/// A collection of a WebDAV server (RFC 4918), and what is in it.
///
/// - Objects have their version in the ETag, for as far as the server gives one. Marks are not kept.
/// - Whether the server enforces conditions it is asked once, by an object that is deleted again (``capabilities()``). Where it does not
///   they are looked at before writing, and somebody else may write in between.
/// - WebDAV deletes collections with everything in them. Before a folder is deleted it is looked whether it is empty; **what somebody puts
///   there in between is deleted too**, since the protocol has no request that would not.
/// - Of servers whose versions are no finer than a second, `checksVersions` is false: a second write of the same size goes unnoticed.
/// - There are no uploads in parts: what breaks off begins anew.
///
/// Isolation: any.
public final class WebDAVRemote: Remote {
    public let name: String
    let service: WebDAVService
    private let ownConnections: HTTPConnections?
    private let probe: Probe

    /// A remote at a collection, which must be there.
    ///
    /// - Parameters:
    ///   - url: the collection's URL, without credentials.
    ///   - credentials: who asks; nobody by default.
    ///   - connections: those of other remotes, to share them; by default it makes its own as the options say.
    ///   - capabilities: what the server does, where that is known and it need not be asked.
    /// - Throws: ``RemoteError`` with `misconfigured` for a URL that is none of a server, and options that cannot be carried out.
    public init(
        _ url: URL,
        credentials: (any HTTPCredentialsProvider)? = nil,
        connections: HTTPConnections? = nil,
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = nil
    ) throws {
        let endpoint = try Endpoint(url)
        ownConnections = connections == nil ? try HTTPConnections(options) : nil
        let connections = try connections ?? ownConnections ?? HTTPConnections(options)
        service = WebDAVService(endpoint: endpoint, credentials: credentials, connections: connections)
        name = endpoint.description
        let service = service
        probe = Probe(known: capabilities) { try await WebDAVProbe(service: service).run() }
    }

    /// Ends its connections, where they are its own. Requests after that throw `misconfigured`.
    public func close() async { await ownConnections?.close() }

    /// What the server does. The first call asks it, by a little object that is deleted again, unless it was said at the beginning.
    ///
    /// - Throws: `misconfigured` where there is no such collection; what requests throw. The next call asks again then.
    public func capabilities() async throws -> RemoteCapabilities { try await probe.findings().capabilities }

    /// How conditions are put to the server.
    func findings() async throws -> Probe.Findings { try await probe.findings() }
}
