import Strata
public import StrataRemotes

extension S3Remote {
    /// Returns an object's properties, by one request. Returns nil if the object does not exist, and also if the bucket
    /// does not exist: an answer to `HEAD` does not distinguish the two.
    ///
    /// - Throws: `forbidden` also if the object does not exist and the server hides this from the user.
    public func head(_ key: RemoteKey) async throws -> RemoteObject? {
        if key == .root { return RemoteObject(key: key, isFolder: true) }
        let answer = try await service.send(service.request("HEAD", try service.objectName(key), key: key))
        if answer.status == 404 { return nil }
        guard answer.isSuccess else { throw try await error(ofHead: answer, key) }
        return object(key, answer, size: answer.contentLength)
    }

    /// Finds out why the server refused a `HEAD`. The answer has no body with an error code. A `GET` of one byte shows
    /// whether the credentials have expired or lack the permission.
    private func error(ofHead answer: HTTPAnswer, _ key: RemoteKey) async throws -> RemoteError {
        let error = await service.error(answer)
        guard [400, 401, 403].contains(answer.status) else { return error }
        let request = service.request("GET", try service.objectName(key), headers: [("range", "bytes=0-0")], key: key)
        let read = try await service.send(request)
        if ![400, 401, 403].contains(read.status) {
            await read.discard()
            return error
        }
        return await service.error(read)
    }

    /// Downloads the content, by one request.
    ///
    /// - Throws: as `Remote.get(_:range:if:)` says.
    public func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws
        -> RemoteDownload
    {
        var headers: [(name: String, value: String)] = []
        // The answer's version is always checked. The header saves the server from sending another version.
        // A read does not start a test of the server, which would have to write.
        if case .matches(let tag) = condition, let findings = await probe.known {
            headers.append(("if-match", service.header(tag, findings)))
        }
        let download = RangedDownload(range: range, condition: condition, key: key, remote: name)
        return try await download.run { header in
            try await service.send(
                service.request("GET", try service.objectName(key), headers: headers + header, key: key)
            )
        } head: {
            try await head(key)
        } object: { answer in
            object(key, answer, size: nil)
        } error: { answer in
            await service.error(answer)
        }
    }

    /// The object that an answer's headers describe.
    func object(_ key: RemoteKey, _ answer: HTTPAnswer, size: Int64?) -> RemoteObject {
        RemoteObject(
            key: key,
            eTag: answer.eTag,
            size: size,
            modifiedAt: answer.modifiedAt,
            mark: answer[Self.markHeader].flatMap { PercentEncoding.decode($0) }
        )
    }

    static let markHeader = "x-amz-meta-strata-mark"

    /// Lists the contents of a folder, 1,000 entries at a time. A folder that does not exist is empty. A recursive
    /// listing contains only folders that were created explicitly.
    ///
    /// - Throws: `misconfigured` if the bucket does not exist.
    public func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        var query: [(name: String, value: String)] = [
            ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "1000"),
        ]
        let prefix = service.prefix(of: folder)
        query.append(("prefix", prefix))
        if !isRecursive { query.append(("delimiter", "/")) }
        if let next { query.append(("continuation-token", next)) }
        let root = try await service.document(service.request("GET", nil, query: query, key: folder))
        guard root.name == "ListBucketResult" else {
            throw RemoteError(.malformedAnswer, "A listing of \(name) is not a ListBucketResult.", key: folder)
        }
        let isEncoded = root.text(of: "EncodingType") == "url"
        var objects: [RemoteObject] = []
        // Every S3 listing states whether a further page exists.
        let isTruncated = root.text(of: "IsTruncated")
        var isComplete = isTruncated != nil
        for child in root.children where child.name == "Contents" || child.name == "CommonPrefixes" {
            let text = child.name == "Contents" ? child.child("Key")?.text : child.text(of: "Prefix")
            guard let name = name(text, isEncoded, prefix: prefix) else {
                isComplete = false
                continue
            }
            guard let (key, isFolder) = key(name, below: folder) else { continue }
            objects.append(
                isFolder || child.name == "CommonPrefixes"
                    ? RemoteObject(key: key, isFolder: true) : object(key, listed: child)
            )
        }
        guard isTruncated == "true" else { return RemoteListing(objects: objects, isComplete: isComplete) }
        guard let token = root.text(of: "NextContinuationToken"), !token.isEmpty, token != next else {
            throw RemoteError(
                .malformedAnswer,
                "A listing of \(name) is cut off and has no continuation token.",
                key: folder
            )
        }
        return RemoteListing(objects: objects, next: token, isComplete: isComplete)
    }

    private func object(_ key: RemoteKey, listed node: XMLNode) -> RemoteObject {
        RemoteObject(
            key: key,
            eTag: node.text(of: "ETag").map { ETag(header: $0) },
            size: node.text(of: "Size").flatMap { Int64($0) },
            modifiedAt: node.text(of: "LastModified").flatMap(HTTPDate.parseISO8601)
        )
    }

    /// A name in a listing without the common prefix. Nil if the name cannot be decoded or lacks the prefix.
    private func name(_ text: String?, _ isEncoded: Bool, prefix: String) -> Substring.UTF8View? {
        guard let text, let name = isEncoded ? PercentEncoding.decode(text, plusIsSpace: true) : text else {
            return nil
        }
        // Compares bytes, because Swift treats a slash and a following combining accent as one character.
        guard name.hasBytePrefix(prefix) else { return nil }
        return name.utf8.dropFirst(prefix.utf8.count)
    }

    /// The key of a name in a listing. Nil for the folder itself, for names that no key can express, and for leftovers
    /// of a probe.
    private func key(_ name: Substring.UTF8View, below folder: RemoteKey) -> (key: RemoteKey, isFolder: Bool)? {
        guard !name.isEmpty else { return nil }
        var segments =
            name
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let isFolder = segments.last?.isEmpty == true
        if isFolder { segments.removeLast() }
        var key = folder
        for segment in segments {
            guard !Probe.owns(segment), let child = key.appending(found: segment) else { return nil }
            key = child
        }
        return (key, isFolder)
    }
}

extension S3Service {
    /// The common prefix of all names below a folder.
    func prefix(of folder: RemoteKey) -> String {
        let segments = location.prefix.segments + folder.segments
        return segments.isEmpty ? "" : segments.joined(separator: "/") + "/"
    }
}
