import Foundation
import StrataRemotes

/// A `GET` of an object or of a byte range. It compensates for servers that ignore ranges or conditions.
struct RangedDownload {
    let range: Range<Int64>?
    let condition: RemoteCondition
    let key: RemoteKey
    let remote: String

    /// - Parameters:
    ///   - send: sends the request with these additional headers.
    ///   - head: returns the object's properties.
    ///   - object: returns the object that an answer describes, without its size.
    ///   - error: converts an unsuccessful answer into an error.
    func run(
        send: ([(name: String, value: String)]) async throws -> HTTPAnswer,
        head: () async throws -> RemoteObject?,
        object: (HTTPAnswer) -> RemoteObject,
        error: (HTTPAnswer) async -> RemoteError
    ) async throws -> RemoteDownload {
        if let range, range.lowerBound < 0 {
            throw RemoteError(.rangeNotSatisfiable, "Ranges begin at 0.", key: key)
        }
        if condition == .isAbsent {
            throw RemoteError(.unsupported, "A read cannot require that '\(key)' is absent.", key: key)
        }
        // The header `Range` cannot express an empty range.
        if range?.isEmpty == true { return try await nothing(head) }
        let headers = range.map { [(name: "range", value: "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
        var answer = try await send(headers)
        if answer.isSuccess, answer.encoding != nil {
            // An object may be stored encoded, and then `HEAD` reports the same size and version. Otherwise the answer
            // was encoded in transit and is useless.
            let told = told(by: answer, object)
            await answer.discard()
            guard let stored = try await head(), let size = told.size, stored.size == size,
                stored.eTag?.value == told.eTag?.value
            else { throw answer.encodingError }
            answer = try await send(headers)
            guard answer.encoding == nil || self.told(by: answer, object) == told else { throw answer.encodingError }
        }
        if answer.status == 416, range != nil {
            await answer.discard()
            return try await nothing(head)
        }
        guard answer.isSuccess else { throw await error(answer) }
        let found = told(by: answer, object)
        try condition.check(found, key: key, remote: remote)
        if answer.status == 206, let (sent, size) = answer["content-range"].flatMap(Self.contentRange) {
            guard let range, sent.lowerBound == range.lowerBound, sent.upperBound == min(range.upperBound, size) else {
                throw RemoteError(.malformedAnswer, "\(remote) sent another range than requested.", key: key)
            }
            return RemoteDownload(object: found, range: sent, chunks: answer.chunks(length: Int64(sent.count)))
        }
        guard answer.status == 200, let size = answer.contentLength, size >= 0 else {
            throw RemoteError(
                .malformedAnswer,
                "\(remote) does not say how long its answer is.",
                key: key,
                status: answer.status
            )
        }
        // The answer is the whole object, because the server does not support ranges or the caller did not ask for one.
        guard (range?.lowerBound ?? 0) <= size else { throw behindEnd(size) }
        let wanted = range?.clamped(to: 0..<size) ?? 0..<size
        return RemoteDownload(
            object: found,
            range: wanted,
            chunks: answer.chunks(skipping: wanted.lowerBound, length: Int64(wanted.count))
        )
    }

    /// The object as an answer describes it, including its size.
    private func told(by answer: HTTPAnswer, _ object: (HTTPAnswer) -> RemoteObject) -> RemoteObject {
        var found = object(answer)
        found.size =
            switch answer.status {
            case 200: answer.contentLength
            case 206: answer["content-range"].flatMap(Self.contentRange)?.size
            default: nil
            }
        return found.versioned
    }

    /// A download without bytes, at an offset within the object or at its end.
    private func nothing(_ head: () async throws -> RemoteObject?) async throws -> RemoteDownload {
        let start = range?.lowerBound ?? 0
        guard let object = try await head(), !object.isFolder else {
            throw RemoteError(.notFound, "'\(key)' does not exist in \(remote).", key: key)
        }
        try condition.check(object, key: key, remote: remote)
        if let size = object.size, start > size { throw behindEnd(size) }
        return RemoteDownload(object: object, range: start..<start, chunks: AsyncThrowingStream { $0.finish() })
    }

    private func behindEnd(_ size: Int64) -> RemoteError {
        RemoteError(
            .rangeNotSatisfiable,
            "'\(key)' has \(size) bytes, and the range begins after its end.",
            key: key,
            status: 416
        )
    }

    /// Parses `bytes 0-4/10`. Returns nil for other texts, and if the size is unknown.
    private static func contentRange(_ text: String) -> (Range<Int64>, size: Int64)? {
        guard let match = text.wholeMatch(of: /\s*bytes\s+([0-9]+)-([0-9]+)\/([0-9]+)\s*/),
            let first = Int64(match.1), let last = Int64(match.2), let size = Int64(match.3), first <= last, last < size
        else { return nil }
        return (first..<last + 1, size)
    }
}
