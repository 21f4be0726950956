internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
import Strata
import StrataRemotes
import Synchronization

/// The head of a server's answer. The body may not have arrived yet.
struct HTTPAnswer: Sendable {
    let status: Int
    private let response: HTTPClientResponse
    private let request: HTTPRequest
    /// Occupies a place among the running requests.
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

    /// The object's version as the answer states it.
    var eTag: ETag? { self["etag"].flatMap { $0.isEmpty ? nil : ETag(header: $0) } }
    /// The length of the body in bytes.
    var contentLength: Int64? { self["content-length"].flatMap { Int64($0) } }
    /// The time of the object's last modification.
    var modifiedAt: Date? { self["last-modified"].flatMap(HTTPDate.parse) }
    /// The content coding of the body, which the request did not ask for. Nil if the body is sent as it is stored.
    var encoding: String? {
        let codings = (self["content-encoding"] ?? "").split(atBytes: ",").flatMap { $0.split(atBytes: " ") }
            .map { $0.lowercased() }
        // `aws-chunked` describes how a body was sent to the server. Some servers keep it as a property of the object.
        let foreign = codings.filter { $0 != "identity" && $0 != "aws-chunked" }
        return foreign.isEmpty ? nil : foreign.joined(separator: ", ")
    }

    /// Whether the answer to a write is one that servers do not give: a status other than 200, 201 and 204, or 200 with
    /// a web page. Login pages and proxies answer every request with a web page.
    var isOdd: Bool {
        switch status {
        case 201, 204: false
        case 200: self["content-type"]?.lowercased().contains("html") == true && contentLength != 0
        default: true
        }
    }

    /// The server's time when it sent the answer.
    var date: Date? { self["date"].flatMap(HTTPDate.parse) }

    /// The time that the server asks the client to wait, given in seconds or as a date (RFC 9110, 10.2.3).
    var retryAfter: Duration? {
        guard let text = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        if let seconds = Int64(text) { return seconds >= 0 ? .seconds(min(seconds, 366 * 86400)) : nil }
        guard let moment = HTTPDate.parse(text) else { return nil }
        // Uses the server's clock if the answer has a date, because the local clock may be wrong.
        let wait = moment.timeIntervalSince(date ?? Date())
        return .seconds(max(0, min(wait, 366 * 86400)))
    }

    /// Reads the whole body into memory. Returns empty data if the body was read before.
    ///
    /// - Throws: `malformedAnswer` if the body is longer than `limit` or encoded; errors of the connection.
    func data(limit: Int) async throws -> Data {
        if encoding != nil {
            await discard()
            throw encodingError
        }
        return try await read(limit: limit)
    }

    /// The error for a body that is encoded although the request asked for no encoding.
    var encodingError: RemoteError {
        RemoteError(
            .malformedAnswer,
            "\(request.target.authority) answered with the encoding '\(encoding ?? "")', which was not requested. "
                + "Turn off compression for this address, at the server or its proxy.",
            key: key,
            status: status
        )
    }

    private func read(limit: Int) async throws -> Data {
        guard reading.begin() else { return Data() }
        // The caller may send further requests after this one, and they must not wait for this request's place.
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

    /// Discards the body. A body of up to 64 KiB is read to its end, so that the connection can be reused.
    func discard() async { _ = try? await read(limit: 64 * 1024) }

    /// The body as a stream of chunks.
    ///
    /// - Parameters:
    ///   - skipped: the number of bytes to leave out at the start.
    ///   - length: the number of bytes to return after the skipped ones. Fewer bytes throw `damagedContent`. Further
    ///     bytes are not read.
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

    /// Records whether the body has been read. The client traps if a body is read twice.
    private final class Reading: Sendable {
        private let hasBegun = Atomic(false)

        /// Returns whether this is the first read.
        func begin() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }
    }
}
