public import Foundation
public import StrataCloud

/// A bucket of a server that speaks S3, or a part of one.
///
/// - Objects have their version in the ETag, and their mark in the metadata `x-amz-meta-strata-mark`.
/// - Folders are what keys have in common. ``createFolder(_:)`` leaves an empty object `folder/` behind, as other tools do.
/// - Whether the server enforces conditions it is asked once, by an object that is deleted again (``capabilities()``). Where it does not
///   they are looked at before writing, and somebody else may write in between.
/// - An ETag is that of the content: what is written once more is the same version.
/// - Parts of uploads have 5 MiB at least, the last one apart. An upload that is neither completed nor aborted is kept, and paid for,
///   until the bucket's rules end it.
/// - Bodies are sent with their hash over plain HTTP, and where they are small. Over TLS larger ones are not hashed, since TLS protects them.
///
/// Isolation: any.
public final class S3Remote: Remote {
    public let name: String
    let location: S3Location
    let service: S3Service
    private let ownConnections: HTTPConnections?
    private let probe: Probe

    /// A remote in a bucket.
    ///
    /// - Parameters:
    ///   - location: where.
    ///   - credentials: who asks; by default what the environment says, then the usual files.
    ///   - connections: those of other remotes, to share them; by default it makes its own as the options say.
    ///   - capabilities: what the server does, where that is known and it need not be asked.
    ///   - now: the clock that requests are signed by.
    /// - Throws: ``RemoteError`` with `misconfigured` where options cannot be carried out.
    public convenience init(
        _ location: S3Location,
        credentials: any S3CredentialsProvider = S3CredentialsChain.standard,
        connections: HTTPConnections? = nil,
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let own = connections == nil ? try HTTPConnections(options) : nil
        // One of the two is there.
        let used = try connections ?? own ?? HTTPConnections(options)
        let service = try S3Service(location, credentials: credentials, connections: used, now: now)
        self.init(service, own: own, capabilities: capabilities)
    }

    init(_ service: S3Service, own: HTTPConnections?, capabilities: RemoteCapabilities?) {
        self.service = service
        ownConnections = own
        location = service.location
        name = service.location.name
        probe = Probe(known: capabilities) { try await S3Probe(service: service).run() }
    }

    /// Ends its connections, where they are its own. Requests after that throw `misconfigured`.
    public func close() async { await ownConnections?.close() }

    /// What the server does. The first call asks it, by a little object that is deleted again, unless it was said at the beginning.
    ///
    /// - Throws: `misconfigured` where there is no such bucket; what requests throw. The next call asks again then.
    public func capabilities() async throws -> RemoteCapabilities { try await probe.findings().capabilities }

    /// How conditions are put to the server.
    func findings() async throws -> Probe.Findings { try await probe.findings() }

    /// The same, as far as it is known. Who only reads is not asked to write.
    func knownFindings() async -> Probe.Findings? { await probe.known }
}
