import Foundation
public import StrataRemotes

extension S3Remote {
    /// Starts a multipart upload.
    public func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        let request = service.request(
            "POST",
            try service.objectName(key),
            query: [("uploads", "")],
            headers: service.metadata(mark: mark, mediaType: mediaType),
            key: key
        )
        guard let id = try await service.document(request).text(of: "UploadId"), !id.isEmpty else {
            throw RemoteError(.malformedAnswer, "\(name) returned no id for an upload.", key: key)
        }
        return id
    }

    /// Uploads a part of at most 5 GiB. The highest part number is 10,000.
    ///
    /// - Returns: the part's ETag.
    public func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String
    {
        let request = service.request(
            "PUT",
            try service.objectName(key),
            query: [("partNumber", String(number)), ("uploadId", upload)],
            body: .stream(body),
            key: key
        )
        let answer = try await missing(upload, at: key) { try await service.succeed(request) }
        await answer.discard()
        guard !answer.isOdd, let tag = answer.eTag else {
            throw RemoteError(
                .malformedAnswer,
                "The upload of part \(number) was answered with \(answer.status) and no ETag, or with a web page. A "
                    + "proxy may have answered instead of \(name): check the network. The request is retried.",
                key: key,
                status: answer.status
            )
        }
        return tag.value
    }

    /// Assembles all parts into the object.
    public func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        let conditions = try await headers(of: condition, for: key)
        // Some servers enforce conditions of simple writes but not of this request.
        if condition != .none, !conditions.isEmpty { try await check(condition, of: key) }
        let request = service.request(
            "POST",
            try service.objectName(key),
            query: [("uploadId", upload)],
            headers: [("content-type", "application/xml")] + conditions,
            body: .data(Self.document(of: parts)),
            key: key
        )
        let root = try await missing(upload, at: key) {
            try await refusing(condition) { try await service.document(request) }
        }
        // Some servers leave the ETag empty here, and report it only for the object.
        let eTag = root.text(of: "ETag").flatMap { $0.isEmpty ? nil : ETag(header: $0) }
        // No answer to a multipart upload contains the size or the mark.
        guard let eTag else { return try await confirmWrite(at: key, size: nil, replacing: condition) }
        if let object = try await head(key), object.eTag == eTag { return object }
        return RemoteObject(key: key, eTag: eTag)
    }

    /// Aborts an upload and discards its parts.
    public func abortUpload(_ upload: String, at key: RemoteKey) async throws {
        let request = service.request("DELETE", try service.objectName(key), query: [("uploadId", upload)], key: key)
        let answer = try await service.send(request)
        if answer.status == 404 { return }
        guard answer.isSuccess else { throw await service.error(answer) }
        await answer.discard()
    }

    /// Performs a request of an upload. After a status 500, checks whether the upload exists, because some servers
    /// answer 500 if it does not.
    private func missing<T>(_ upload: String, at key: RemoteKey, _ request: () async throws -> T) async throws -> T {
        do {
            return try await request()
        } catch let error as RemoteError where error.status == 500 {
            let query = [(name: "uploadId", value: upload), (name: "max-parts", value: "1")]
            let question = service.request("GET", try service.objectName(key), query: query, key: key)
            // If this check fails, the first error says more.
            guard let answer = try? await service.send(question) else { throw error }
            await answer.discard()
            guard answer.status == 404 else { throw error }
            throw RemoteError(
                .uploadGone,
                "\(name) does not know the upload.",
                key: key,
                status: error.status,
                underlying: error
            )
        }
    }

    /// The XML document that lists an upload's parts.
    static func document(of parts: [String]) -> Data {
        let parts = parts.enumerated().map { index, tag in
            let tag = ETag(header: tag).header.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            return "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
        return Data("<CompleteMultipartUpload xmlns=\"\(namespace)\">\(parts.joined())</CompleteMultipartUpload>".utf8)
    }
}
