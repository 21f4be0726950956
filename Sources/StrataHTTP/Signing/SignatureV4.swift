internal import Crypto
import Foundation
import Strata
import StrataRemotes

/// Signs requests with AWS Signature Version 4, as the chapter "Create a signed AWS API request" of the IAM User Guide
/// specifies. The rules of S3 apply: paths are encoded once and not normalised.
struct SignatureV4: Sendable {
    var region: String
    var service = "s3"
    /// The hash of an empty body.
    static let emptyHash = hash(Data())
    /// Replaces the hash of a streamed body that TLS protects.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// The headers that sign a request: the date, the session token and the signature.
    ///
    /// - Parameters:
    ///   - path: the encoded path, as it is sent.
    ///   - headers: the headers to sign, including `Host`.
    ///   - payloadHash: the hexadecimal SHA-256 of the body, or ``unsignedPayload``.
    func headers(
        method: String,
        path: String,
        query: [(name: String, value: String)],
        headers: [(name: String, value: String)],
        payloadHash: String,
        credentials: S3Credentials,
        date: Date
    ) -> [(name: String, value: String)] {
        let timestamp = Self.timestamp(date)
        var added = [("x-amz-date", timestamp)]
        if let token = credentials.sessionToken { added.append(("x-amz-security-token", token)) }
        let signed = Self.canonical(headers + added.map { (name: $0.0, value: $0.1) })
        let names = signed.map(\.name).joined(separator: ";")
        let request = [
            method, path.isEmpty ? "/" : path, Self.canonicalQuery(query),
            signed.map { "\($0.name):\($0.value)\n" }.joined(), names, payloadHash,
        ].joined(separator: "\n")
        let day = String(timestamp.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(timestamp)\n\(scope)\n\(Self.hash(Data(request.utf8)))"
        var key = SymmetricKey(data: Data("AWS4\(credentials.secretKey)".utf8))
        for part in [day, region, service, "aws4_request"] { key = SymmetricKey(data: Self.code(part, key)) }
        let signature = Hexadecimal.text(Self.code(text, key))
        let authorization =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        return (added + [("authorization", authorization)]).map { (name: $0.0, value: $0.1) }
    }

    /// The hexadecimal SHA-256 of the data.
    static func hash(_ data: Data) -> String { Hexadecimal.text(SHA256.hash(data: data)) }

    /// The hexadecimal SHA-256 of all chunks together.
    static func hash(_ chunks: AsyncThrowingStream<Data, any Error>) async throws -> String {
        var hash = SHA256()
        for try await chunk in chunks { hash.update(data: chunk) }
        return Hexadecimal.text(hash.finalize())
    }

    private static func code(_ text: String, _ key: SymmetricKey) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
    }

    /// Canonical headers: lowercase names in sorted order, with trimmed values, single spaces, and equal names joined
    /// by commas.
    private static func canonical(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        var values: [UTF8Text: [String]] = [:]
        for (name, value) in headers {
            let words = value.split(atBytes: " ").joined(separator: " ")
            values[UTF8Text(name.lowercased()), default: []].append(words)
        }
        return values.sorted { $0.key < $1.key }.map { (name: $0.key.string, value: $0.value.joined(separator: ",")) }
    }

    private static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// A timestamp of the form `20130524T000000Z`.
    private static func timestamp(_ date: Date) -> String {
        let seconds = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
        return seconds.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt)
        )
    }
}
