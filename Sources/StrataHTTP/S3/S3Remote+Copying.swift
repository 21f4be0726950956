public import StrataRemotes

extension S3Remote {
    /// Copies an object within the server, in parts if it is larger than 5 GiB.
    ///
    /// The remote first checks that the target is free. Servers that enforce conditions on copies check again when they
    /// write. On other servers, another client may write to the target in between.
    public func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        let findings = try await probe.findings()
        try await check(.isAbsent, of: target)
        guard let object = try await head(source) else {
            throw RemoteError(.notFound, "'\(source)' does not exist in \(name).", key: source)
        }
        if let version { try RemoteCondition.matches(version).check(object, key: source, remote: name) }
        let from = "/\(service.location.bucket)/\(try service.objectName(source))"
        var headers = [(name: "x-amz-copy-source", value: PercentEncoding.encode(from, keepingSlashes: true))]
        if let tag = version ?? object.eTag {
            headers.append(("x-amz-copy-source-if-match", service.header(tag, findings)))
        }
        if let size = object.size, size > service.copyLimit {
            return try await copy(object, size: size, to: target, headers: headers)
        }
        if findings.capabilities.checksAbsence { headers.append(("if-none-match", "*")) }
        let request = service.request("PUT", try service.objectName(target), headers: headers, key: target)
        let root = try await service.document(request)
        var copy = object
        copy.key = target
        guard let tag = root.text(of: "ETag"), !tag.isEmpty else {
            return try await confirmWrite(at: target, size: object.size)
        }
        copy.eTag = ETag(header: tag)
        copy.modifiedAt = root.text(of: "LastModified").flatMap(HTTPDate.parseISO8601)
        return copy
    }

    private func copy(
        _ object: RemoteObject,
        size: Int64,
        to target: RemoteKey,
        headers: [(name: String, value: String)]
    ) async throws -> RemoteObject {
        let upload = try await beginUpload(target, mark: object.mark, mediaType: nil)
        do {
            var parts: [String] = []
            var start: Int64 = 0
            while start < size {
                let end = min(start + service.copiedPart, size)
                let range = "bytes=\(start)-\(end - 1)"
                start = end
                let request = service.request(
                    "PUT",
                    try service.objectName(target),
                    query: [("partNumber", String(parts.count + 1)), ("uploadId", upload)],
                    headers: headers + [("x-amz-copy-source-range", range)],
                    key: target
                )
                guard let tag = try await service.document(request).text(of: "ETag") else {
                    throw RemoteError(.malformedAnswer, "\(name) returned no ETag for a copied part.", key: target)
                }
                parts.append(ETag(header: tag).value)
            }
            return try await completeUpload(upload, parts: parts, at: target, if: .isAbsent)
        } catch {
            // The bucket would keep and bill the copied parts. An error of the abort is ignored, because the first
            // error says more. The abort runs in a separate task, because a cancelled task could not send it.
            await Task { try? await abortUpload(upload, at: target) }.value
            throw error
        }
    }
}
