import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

/// Signed requests to a server by the HTTP client alone, which Strata's remote stands on as well: no conditions are found out, nothing is
/// tried again, and answers are looked at for their status only.
struct PlainS3: Sendable {
    let server: S3Server
    private let key: SymmetricKey
    private let scope: String

    /// Signs with the date of now.
    init(_ server: S3Server) {
        self.server = server
        let day = String(Self.timestamp(time(nil)).prefix(8))
        var key = SymmetricKey(data: Data("AWS4\(S3Server.secretKey)".utf8))
        for part in [day, "us-east-1", "s3", "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        self.key = key
        scope = "\(day)/us-east-1/s3/aws4_request"
    }

    func makeBucket() async throws { try await send(.PUT, "/\(S3Server.bucket)", [], Data()) }

    /// Puts an object where there is none, with the headers that Strata's remote sends.
    func put(_ data: Data, _ path: String, mark: String) async throws {
        let headers = [
            ("content-type", "application/octet-stream"), ("if-none-match", "*"), ("x-amz-meta-strata-mark", mark),
        ]
        try await send(.PUT, "/\(S3Server.bucket)/\(path)", headers, data)
    }

    /// - Parameter headers: in the order of their names.
    private func send(_ method: HTTPMethod, _ path: String, _ headers: [(String, String)], _ body: Data) async throws {
        let (host, hash, date) = (
            "127.0.0.1:\(server.port)", Self.text(SHA256.hash(data: body)), Self.timestamp(time(nil))
        )
        let own = [("host", host), ("x-amz-content-sha256", hash), ("x-amz-date", date)]
        let signed = (headers + own).sorted { $0.0 < $1.0 }
        let names = signed.map(\.0).joined(separator: ";")
        let lines = signed.map { "\($0.0):\($0.1)\n" }.joined()
        let canonical = "\(method)\n\(path)\n\n\(lines)\n\(names)\n\(hash)"
        let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(Self.text(SHA256.hash(data: Data(canonical.utf8))))"
        let signature = Self.text(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
        var request = HTTPClientRequest(url: "\(server.url)\(path)")
        request.method = method
        for (name, value) in signed { request.headers.add(name: name, value: value) }
        request.headers.add(
            name: "authorization",
            value:
                "AWS4-HMAC-SHA256 Credential=\(S3Server.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        )
        request.body = .bytes(ByteBuffer(data: body))
        // The connections of the client are kept alive.
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 1 << 16)
        guard response.status == .ok else {
            throw BenchError("\(method) \(path): \(response.status), \(String(buffer: answer))")
        }
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// `20130524T000000Z`.
    private static func timestamp(_ moment: time_t) -> String {
        var (moment, parts) = (moment, tm())
        gmtime_r(&moment, &parts)
        return String(
            format: "%04d%02d%02dT%02d%02d%02dZ",
            parts.tm_year + 1900,
            parts.tm_mon + 1,
            parts.tm_mday,
            parts.tm_hour,
            parts.tm_min,
            parts.tm_sec
        )
    }
}
