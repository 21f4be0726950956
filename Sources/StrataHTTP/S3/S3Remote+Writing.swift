public import StrataRemotes

extension S3Remote {
    /// Writes an object of at most 5 GiB, by one request.
    ///
    /// - Throws: as `Remote.put(_:at:if:)` says.
    public func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        let object = try service.objectName(key)
        let conditions = try await headers(of: condition, for: key)
        let request = service.request(
            "PUT",
            object,
            headers: service.metadata(mark: body.mark, mediaType: body.mediaType) + conditions,
            body: .stream(body),
            key: key
        )
        let answer = try await refusing(condition) { try await service.succeed(request) }
        await answer.discard()
        if !answer.isOdd, let eTag = answer.eTag {
            return RemoteObject(key: key, eTag: eTag, size: body.size, mark: body.mark)
        }
        return try await confirm(answer, of: body, at: key, replacing: condition)
    }

    /// Writes an empty object whose name ends in a slash, so that listings contain an empty folder.
    @discardableResult
    public func createFolder(_ key: RemoteKey) async throws -> Bool {
        if key == .root { return false }
        let marker = try service.objectName(key, isFolder: true)
        let findings = try await probe.findings()
        var headers: [(name: String, value: String)] = [("content-type", "application/x-directory")]
        if findings.capabilities.checksAbsence {
            headers.append(("if-none-match", "*"))
        } else {
            let answer = try await service.send(service.request("HEAD", marker, key: key))
            if answer.isSuccess { return false }
            guard answer.status == 404 else { throw await service.error(answer) }
        }
        do {
            let request = service.request("PUT", marker, headers: headers, body: .stream(RemoteBody(.init())), key: key)
            let answer = try await service.succeed(request)
            await answer.discard()
            guard answer.isOdd else { return true }
            let there = try await service.send(service.request("HEAD", marker, key: key))
            if there.isSuccess { return true }
            throw RemoteError.notThere("The creation of the folder '\(key)'", name, key: key, status: answer.status)
        } catch let error as RemoteError where error.code == .conditionFailed {
            return false
        }
    }

    /// Deletes an object, or the marker of an empty folder. Costs two requests, because the server does not report
    /// whether the object existed.
    ///
    /// - Returns: false if the object did not exist, even if `condition` names a version.
    @discardableResult
    public func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        if isFolder { return try await deleteFolder(key) }
        let name = try service.objectName(key)
        guard let object = try await head(key) else { return false }
        try condition.check(object, key: key, remote: self.name)
        var headers: [(name: String, value: String)] = []
        if case .matches(let tag) = condition {
            let findings = try await probe.findings()
            if findings.capabilities.checksVersionsOfDeletes { headers = [("if-match", service.header(tag, findings))] }
        }
        let answer = try await service.send(service.request("DELETE", name, headers: headers, key: key))
        if answer.status == 404 { return false }
        guard answer.isSuccess else { throw await service.error(answer) }
        await answer.discard()
        guard answer.isOdd, try await head(key) != nil else { return true }
        let request = "The deletion of '\(key)'"
        throw RemoteError.notThere(request, self.name, found: "still has it", key: key, status: answer.status)
    }

    private func deleteFolder(_ key: RemoteKey) async throws -> Bool {
        guard key != .root else { throw RemoteError(.notEmpty, "The root cannot be deleted.", key: key) }
        let marker = try service.objectName(key, isFolder: true)
        let listing = try await list(key, isRecursive: false, after: nil)
        guard listing.objects.isEmpty, listing.next == nil, listing.isComplete else {
            throw RemoteError(.notEmpty, "The folder '\(key)' is not empty.", key: key)
        }
        let answer = try await service.send(service.request("HEAD", marker, key: key))
        if answer.status == 404 { return false }
        guard answer.isSuccess else { throw await service.error(answer) }
        await (try service.succeed(service.request("DELETE", marker, key: key))).discard()
        return true
    }
}

extension S3Service {
    /// The headers that describe a body.
    func metadata(mark: String?, mediaType: String?) -> [(name: String, value: String)] {
        var headers = [(name: "content-type", value: mediaType ?? "application/octet-stream")]
        // Headers can reliably hold only ASCII.
        if let mark { headers.append((S3Remote.markHeader, PercentEncoding.encode(mark))) }
        return headers
    }
}
