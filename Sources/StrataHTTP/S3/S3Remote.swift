public import Foundation
public import StrataRemotes

/// A bucket of an S3-compatible server, or a part of one.
///
/// - The ETag is an object's version. The metadata `x-amz-meta-strata-mark` is its mark.
/// - Folders are common prefixes of keys. ``createFolder(_:)`` writes an empty object `folder/`, as other tools do.
/// - The first call of ``capabilities()`` tests whether the server enforces conditions, with an object that is deleted
///   afterwards. If the server does not enforce them, the remote checks conditions before a write. Another client may
///   then write between the check and the write.
/// - An ETag identifies content: writing the same content again results in the same version.
/// - Parts of an upload have at least 5 MiB, except the last part. The bucket keeps and bills an upload that is neither
///   completed nor aborted, until the bucket's lifecycle rules end it.
/// - Bodies are sent with their hash over plain HTTP, and if they are small. Over TLS, larger bodies are not hashed,
///   because TLS protects them.
///
/// Isolation: any.
public final class S3Remote: Remote {
    public let name: String
    let service: S3Service
    private let ownConnections: HTTPConnections?
    let probe: Probe

    /// Creates a remote for a location in a bucket.
    ///
    /// - Parameters:
    ///   - location: the server, the bucket and the prefix.
    ///   - credentials: the keys that sign requests. By default they come from the environment, then from the default
    ///     files.
    ///   - connections: connections to share with other remotes. By default the remote opens its own, as `options` say.
    ///   - options: the options of the remote's own connections.
    ///   - capabilities: the server's capabilities, if they are known and need no test.
    ///   - now: the clock that gives signatures their time.
    /// - Throws: `RemoteError` with `misconfigured` if an option is invalid.
    public convenience init(
        _ location: S3Location,
        credentials: any S3CredentialsProvider = S3CredentialsChain.standard,
        connections: HTTPConnections? = nil,
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let used = try connections ?? HTTPConnections(options)
        let service = try S3Service(location, credentials: credentials, connections: used, now: now)
        self.init(service, own: connections == nil ? used : nil, capabilities: capabilities)
    }

    init(_ service: S3Service, own: HTTPConnections?, capabilities: RemoteCapabilities?) {
        self.service = service
        ownConnections = own
        name = service.location.name
        probe = Probe(known: capabilities) { try await S3Probe(service: service).run() }
    }

    /// Closes the remote's connections, unless they are shared. Later requests throw `misconfigured`.
    public func close() async { await ownConnections?.close() }

    /// Returns the server's capabilities. The first call tests them with a small object that is deleted afterwards,
    /// unless the initializer received them.
    ///
    /// - Throws: `misconfigured` if the bucket does not exist; errors of requests. After an error, the next call tests
    ///   again.
    public func capabilities() async throws -> RemoteCapabilities { try await probe.findings().capabilities }
}
