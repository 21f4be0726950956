internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
import Strata
import StrataCloud
import Synchronization

/// What a server has answered. Its body is still on its way.
struct HTTPAnswer: Sendable {
    let status: Int
    private let response: HTTPClientResponse
    private let request: HTTPRequest
    /// Holds the place among the requests that are under way.
    private let ticket: RequestGate.Ticket
    private let reading = Reading()

    init(_ response: HTTPClientResponse, to request: HTTPRequest, ticket: RequestGate.Ticket) {
        status = Int(response.status.code)
        self.response = response
        self.request = request
        self.ticket = ticket
    }

    var key: RemoteKey? { request.key }
    var isSuccess: Bool { (200..<300).contains(status) }

    subscript(name: String) -> String? { response.headers.first(name: name) }

    /// The version that it names.
    var eTag: ETag? { self["etag"].flatMap { $0.isEmpty ? nil : ETag(header: $0) } }
    /// How long the body is.
    var contentLength: Int64? { self["content-length"].flatMap { Int64($0) } }
    /// When the object was last written.
    var modifiedAt: Date? { self["last-modified"].flatMap(HTTPDate.parse) }
    /// How the body is encoded, against the request's wish; nil for a body that is as it is stored.
    var encoding: String? {
        let codings = (self["content-encoding"] ?? "").split(atBytes: ",").flatMap { $0.split(atBytes: " ") }
            .map { $0.lowercased() }
        // The second one says how a body was sent to the server, and stays behind as a property of the object.
        let foreign = codings.filter { $0 != "identity" && $0 != "aws-chunked" }
        return foreign.isEmpty ? nil : foreign.joined(separator: ", ")
    }

    /// Whether a write has been answered in a way that servers do not: with another status than those of a write, or with 200 and a web page,
    /// as login pages and proxies answer everything.
    var isOdd: Bool {
        switch status {
        case 201, 204: false
        case 200: self["content-type"]?.lowercased().contains("html") == true && contentLength != 0
        default: true
        }
    }

    /// The server's clock.
    var date: Date? { self["date"].flatMap(HTTPDate.parse) }

    /// How long the server asks to wait: in seconds, or up to a moment (RFC 9110, 10.2.3).
    var retryAfter: Duration? {
        guard let text = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        if let seconds = Int64(text) { return seconds >= 0 ? .seconds(min(seconds, 366 * 86400)) : nil }
        guard let moment = HTTPDate.parse(text) else { return nil }
        // By the server's own clock where it tells it, since ours may be wrong.
        let wait = moment.timeIntervalSince(date ?? Date())
        return .seconds(max(0, min(wait, 366 * 86400)))
    }

    /// The whole body, in memory; nothing where it has been read before.
    ///
    /// - Throws: `malformedAnswer` where it is longer than the limit, or encoded; what the connection throws.
    func data(limit: Int) async throws -> Data {
        if encoding != nil {
            await discard()
            throw encodingError
        }
        return try await read(limit: limit)
    }

    /// That the body is encoded although the request asked for none.
    var encodingError: RemoteError {
        RemoteError(
            .malformedAnswer,
            "\(request.target.authority) answers with the encoding '\(encoding ?? "")', and was asked for none. Turn compression off for this address, at the server or at the proxy before it.",
            key: key,
            status: status
        )
    }

    private func read(limit: Int) async throws -> Data {
        guard reading.begin() else { return Data() }
        // Whoever has the answer may ask more, which must not wait for itself.
        defer { ticket.giveBack() }
        do {
            return Data(buffer: try await response.body.collect(upTo: limit))
        } catch let error as NIOTooManyBytesError {
            throw RemoteError(
                .malformedAnswer,
                "An answer of \(request.target.authority) is longer than \(limit) bytes.",
                key: key,
                status: status,
                underlying: error
            )
        } catch {
            throw RemoteError.ofConnection(error, host: request.target.authority, key: key)
        }
    }

    /// Reads a body of no interest to its end where it is short, so that the connection can be used again.
    func discard() async { _ = try? await read(limit: 64 * 1024) }

    /// The body as it arrives.
    ///
    /// - Parameters:
    ///   - skipped: how many bytes in front are left out.
    ///   - length: how many are given behind these. Fewer throw `damagedContent`; what comes behind them is not read.
    func chunks(skipping skipped: Int64 = 0, length: Int64) -> AsyncThrowingStream<Data, any Error> {
        guard reading.begin() else { return AsyncThrowingStream { $0.finish() } }
        let chunks = IncomingChunks(
            iterator: response.body.makeAsyncIterator(),
            ticket: ticket,
            host: request.target.authority,
            key: key,
            skipped: skipped,
            length: length
        )
        return AsyncThrowingStream(unfolding: { try await chunks.next() })
    }

    /// Whether the body has been read: the client traps where it is read twice.
    private final class Reading: Sendable {
        private let hasBegun = Atomic(false)

        /// Whether this is the first time.
        func begin() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }
    }
}
