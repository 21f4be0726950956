internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
import StrataRemotes

/// A request to a server.
struct HTTPRequest: Sendable {
    /// The address that a request is sent to.
    struct Target: Sendable {
        var scheme: String
        var authority: String
        /// The path from the server's root, percent-encoded.
        var path: String
        /// Names and values, not percent-encoded.
        var query: [(name: String, value: String)] = []

        var url: String {
            let query = query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
            return "\(scheme)://\(authority)\(path)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        }
    }

    /// The body of a request.
    enum Body: Sendable {
        case none
        case data(Data)
        case stream(RemoteBody)

        /// Whether the body is read while the request sends it.
        var isStream: Bool {
            if case .stream = self { true } else { false }
        }
    }

    var method: String
    var target: Target
    var headers: [(name: String, value: String)] = []
    var body = Body.none
    /// The object that the request concerns, for error messages.
    var key: RemoteKey?

    func forClient() throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: target.url)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers {
            // The client would reject the header too, but its message contains the value, which may be a secret.
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw RemoteError(.misconfigured, "The header \(name) cannot hold control characters.", key: key)
            }
            request.headers.add(name: name, value: value)
        }
        // Sizes and ranges describe the stored object, not a compressed form of it.
        if !request.headers.contains(name: "accept-encoding") {
            request.headers.add(name: "accept-encoding", value: "identity")
        }
        switch body {
        case .none: break
        case .data(let data): request.body = .bytes(ByteBuffer(data: data))
        case .stream(let body):
            request.body = .stream(OutgoingChunks(body: body), length: .known(body.size))
        }
        return request
    }
}

/// The chunks of a body for the client. Throws unless their total size equals the announced size.
private struct OutgoingChunks: AsyncSequence, Sendable {
    let body: RemoteBody

    struct AsyncIterator: AsyncIteratorProtocol {
        let body: RemoteBody
        var iterator: AsyncThrowingStream<Data, any Error>.Iterator?
        var sent: Int64 = 0

        mutating func next() async throws -> ByteBuffer? {
            if iterator == nil {
                iterator = try await body.chunks().makeAsyncIterator()
            }
            while let data = try await iterator?.next() {
                guard !data.isEmpty else { continue }
                sent += Int64(data.count)
                guard sent <= body.size else { throw wrongSize("more than") }
                return ByteBuffer(data: data)
            }
            guard sent == body.size else { throw wrongSize("fewer than") }
            return nil
        }

        private func wrongSize(_ comparison: String) -> RemoteError {
            RemoteError(.unreadableBody, "The body has \(comparison) the announced \(body.size) bytes.")
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: body) }
}
