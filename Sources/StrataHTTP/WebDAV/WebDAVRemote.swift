public import Foundation
public import StrataRemotes

/// A collection of a WebDAV server (RFC 4918), with its contents.
///
/// - The ETag is an object's version, if the server sends one. Marks are not stored.
/// - The first call of ``capabilities()`` tests whether the server enforces conditions, with an object that is deleted
///   afterwards. If the server does not enforce them, the remote checks conditions before a write. Another client may
///   then write between the check and the write.
/// - WebDAV deletes a collection with all its contents. The remote checks that a folder is empty before it deletes it.
///   **An object that another client adds in between is deleted too**, because the protocol has no conditional request
///   for this.
/// - If a server's versions are not finer than a second, `checksVersions` is false: a second write of the same size
///   within a second is not noticed.
/// - Multipart uploads do not exist: an interrupted upload starts again from the beginning.
///
/// Isolation: any.
public final class WebDAVRemote: Remote {
    public let name: String
    let service: WebDAVService
    private let ownConnections: HTTPConnections?
    let probe: Probe

    /// Creates a remote for a collection, which must exist.
    ///
    /// - Parameters:
    ///   - url: the collection's URL, without credentials.
    ///   - credentials: the credentials of requests. By default requests are unauthenticated.
    ///   - connections: connections to share with other remotes. By default the remote opens its own, as `options` say.
    ///   - options: the options of the remote's own connections.
    ///   - capabilities: the server's capabilities, if they are known and need no test.
    /// - Throws: `RemoteError` with `misconfigured` if the URL does not name a server, or if an option is invalid.
    public init(
        _ url: URL,
        credentials: (any HTTPCredentialsProvider)? = nil,
        connections: HTTPConnections? = nil,
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = nil
    ) throws {
        let endpoint = try Endpoint(url)
        let used = try connections ?? HTTPConnections(options)
        ownConnections = connections == nil ? used : nil
        service = WebDAVService(endpoint: endpoint, credentials: credentials, connections: used)
        name = endpoint.description
        let service = service
        probe = Probe(known: capabilities) { try await WebDAVProbe(service: service).run() }
    }

    /// Closes the remote's connections, unless they are shared. Later requests throw `misconfigured`.
    public func close() async { await ownConnections?.close() }

    /// Returns the server's capabilities. The first call tests them with a small object that is deleted afterwards,
    /// unless the initializer received them.
    ///
    /// - Throws: `misconfigured` if the collection does not exist; errors of requests. After an error, the next call
    ///   tests again.
    public func capabilities() async throws -> RemoteCapabilities { try await probe.findings().capabilities }
}
