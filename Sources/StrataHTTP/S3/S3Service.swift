import Foundation
import StrataRemotes

/// Sends signed requests to a bucket, and interprets its errors.
struct S3Service: Sendable {
    let location: S3Location
    let endpoint: Endpoint
    let credentials: any S3CredentialsProvider
    let connections: HTTPConnections
    let now: @Sendable () -> Date
    /// The largest size in bytes that one request copies (S3 API Reference, CopyObject), and the part size of larger
    /// copies.
    var copyLimit: Int64 = 5 << 30
    var copiedPart: Int64 = 1 << 30

    /// Bodies of up to this size, in bytes, are read into memory and hashed before they are sent.
    static let smallBody: Int64 = 1 << 20
    /// The maximum size of the server's XML documents, in bytes.
    static let documentLimit = 64 << 20
    /// The maximum length of a key, in bytes of UTF-8 (S3 User Guide, "Naming Amazon S3 objects").
    static let keyLimit = 1024

    init(
        _ location: S3Location,
        credentials: any S3CredentialsProvider,
        connections: HTTPConnections,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.location = location
        let server = try Endpoint(location.endpoint)
        endpoint = location.addressing == .virtualHost ? server.subdomain(location.bucket) : server
        self.credentials = credentials
        self.connections = connections
        self.now = now
    }

    /// The full name of an object in its bucket.
    ///
    /// - Throws: `invalidKey`.
    func objectName(_ key: RemoteKey, isFolder: Bool = false) throws -> String {
        try key.requireNames()
        let name =
            (location.prefix.segments + key.segments).joined(separator: "/")
            + (isFolder ? "/" : "")
        guard name.utf8.count <= Self.keyLimit else {
            throw RemoteError(.invalidKey, "Keys of S3 have \(Self.keyLimit) bytes at most.", key: key)
        }
        guard key != .root else { throw RemoteError(.invalidKey, "The root is not an object.", key: key) }
        return name
    }

    /// A request for an object, or for the bucket if `object` is nil.
    func request(
        _ method: String,
        _ object: String?,
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [],
        body: HTTPRequest.Body = .none,
        key: RemoteKey?
    ) -> HTTPRequest {
        var path = endpoint.basePath
        if location.addressing == .path { path += "/" + PercentEncoding.encode(location.bucket) }
        if let object { path += "/" + PercentEncoding.encode(object, keepingSlashes: true) }
        return HTTPRequest(
            method: method,
            target: .init(
                scheme: endpoint.scheme,
                authority: endpoint.authority,
                path: path.isEmpty ? "/" : path,
                query: query
            ),
            headers: headers,
            body: body,
            key: key
        )
    }

    /// Signs and sends a request. An HTTP status never throws here.
    func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
        guard let credentials = try await credentials.credentials() else {
            throw RemoteError(
                .misconfigured,
                "No credentials were found for \(endpoint.authority). Set AWS_ACCESS_KEY_ID and "
                    + "AWS_SECRET_ACCESS_KEY, or pass a provider.",
                key: request.key
            )
        }
        var request = request
        let hash: String
        switch request.body {
        case .none: hash = SignatureV4.emptyHash
        case .data(let data): hash = SignatureV4.hash(data)
        case .stream(let body) where body.size <= Self.smallBody:
            let data = try await body.data()
            request.body = .data(data)
            hash = SignatureV4.hash(data)
        case .stream where endpoint.isSecure: hash = SignatureV4.unsignedPayload
        // The body is read twice: first to hash it, then to send it. Without TLS, only the hash protects the content.
        case .stream(let body): hash = try await SignatureV4.hash(try await body.chunks())
        }
        try Task.checkCancellation()
        request.headers += [("host", request.target.authority), ("x-amz-content-sha256", hash)]
        let now = now
        return try await connections.send(request) { [region = location.region] request in
            // Signs after the wait for a free connection, because servers accept a signature for only a few minutes.
            request.headers += SignatureV4(region: region).headers(
                method: request.method,
                path: request.target.path,
                query: request.target.query,
                headers: request.headers,
                payloadHash: hash,
                credentials: credentials,
                date: now()
            )
        }
    }

    /// Sends a request, and throws unless the answer is a success.
    func succeed(_ request: HTTPRequest) async throws -> HTTPAnswer {
        let answer = try await send(request)
        guard answer.isSuccess else { throw await error(answer) }
        return answer
    }

    /// Sends a request, and returns the XML document of its answer. The server answers some requests with 200 before it
    /// performs them, and reports errors in the document.
    func document(_ request: HTTPRequest) async throws -> XMLNode {
        let answer = try await succeed(request)
        let data = try await answer.data(limit: Self.documentLimit)
        guard let root = XMLNode.parse(data) else {
            throw RemoteError(
                XMLNode.isCut(data) ? .answerLost : .malformedAnswer,
                "The answer of \(endpoint.authority) is not XML.",
                key: request.key,
                status: answer.status
            )
        }
        if root.name == "Error" { throw error(answer, document: root) }
        return root
    }
}
