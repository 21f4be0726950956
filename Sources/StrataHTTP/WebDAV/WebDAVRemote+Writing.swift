public import StrataRemotes

extension WebDAVRemote {
    /// Writes an object. A `HEAD` confirms the object if the answer does not contain its version, or if the answer is
    /// unusual for a write.
    ///
    /// - Throws: as `Remote.put(_:at:if:)` says; `malformedAnswer` if the server does not have the object, whatever
    ///   it answered.
    public func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        if key == .root { throw RemoteError(.occupied, "The root is a folder.", key: key) }
        var headers = try await headers(of: condition, for: key)
        headers.append(("content-type", body.mediaType ?? "application/octet-stream"))
        let answer = try await service.send("PUT", key, headers: headers, body: .stream(body))
        guard answer.isSuccess else { throw await refusal(answer, at: key) }
        await answer.discard()
        if !answer.isOdd, let eTag = answer.eTag, !eTag.isWeak {
            return RemoteObject(key: key, eTag: eTag, size: body.size)
        }
        return try await confirm(answer, of: body, at: key, replacing: condition)
    }

    /// Determines why the server refused a write. Servers answer differently if a folder has the object's name, or if
    /// the parent folder is missing.
    private func refusal(_ answer: HTTPAnswer, at key: RemoteKey) async -> RemoteError {
        let refused = await service.error(answer, writes: true)
        if service.isRedirectToCollection(answer) {
            return RemoteError(.occupied, "'\(key)' is a folder.", key: key, status: answer.status)
        }
        switch answer.status {
        case 400, 403, 404, 405, 409, 412, 500, 501: break
        default: return refused
        }
        // Replaces the server's own error only if the cause is certain.
        do {
            if let there = try await head(key) {
                guard there.isFolder else { return refused }
                return RemoteError(.occupied, "'\(key)' is a folder.", key: key, status: answer.status)
            }
            guard answer.status != 412, let parent = key.parent else { return refused }
            let above = try await head(parent)
            // Apache answers 400 if a file is in the place of the folder, but it answers 400 in many other cases too.
            guard above?.isFolder != true, answer.status != 400 || above != nil else { return refused }
            return missingParent(of: key, answer)
        } catch {
            return refused
        }
    }

    func missingParent(of key: RemoteKey, _ answer: HTTPAnswer) -> RemoteError {
        RemoteError(.parentMissing, "The parent folder of '\(key)' does not exist.", key: key, status: answer.status)
    }

    /// Creates a folder by `MKCOL`.
    @discardableResult
    public func createFolder(_ key: RemoteKey) async throws -> Bool {
        if key == .root { return false }
        let answer = try await service.send("MKCOL", key, isFolder: true)
        if answer.isSuccess {
            await answer.discard()
            guard answer.isOdd, try await head(key)?.isFolder != true else { return true }
            throw RemoteError.notThere("The creation of the folder '\(key)'", name, key: key, status: answer.status)
        }
        let error = await service.error(answer, writes: true)
        // Status 405 means that the name is in use (RFC 4918, 9.3.1). Further requests find out by what, and what the
        // other statuses mean.
        guard [400, 403, 404, 405, 409, 500].contains(answer.status) else { throw error }
        if let there = try await head(key) {
            if there.isFolder { return false }
            throw RemoteError(.occupied, "'\(key)' is a file.", key: key, status: answer.status)
        }
        guard let parent = key.parent, try await head(parent)?.isFolder == true else {
            throw missingParent(of: key, answer)
        }
        throw error
    }

    /// Deletes an object, or a folder that is empty when this method checks it. The server also deletes objects that
    /// were added to the folder after the check.
    ///
    /// - Returns: false if the object did not exist, even if `condition` names a version.
    @discardableResult
    public func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        if key == .root { throw RemoteError(.notEmpty, "The root cannot be deleted.", key: key) }
        guard let object = try await head(key) else { return false }
        guard object.isFolder == isFolder else {
            throw RemoteError(.occupied, "'\(key)' is a \(isFolder ? "file" : "folder").", key: key)
        }
        var headers: [(name: String, value: String)] = []
        if isFolder {
            guard let inside = try await service.properties(key, isFolder: true, depth: 1) else { return false }
            guard inside.children.isEmpty, inside.isComplete else {
                throw RemoteError(.notEmpty, "The folder '\(key)' is not empty.", key: key)
            }
        } else {
            try condition.check(object, key: key, remote: name)
            if case .matches = condition, try await capabilities().checksVersionsOfDeletes, let tag = object.eTag,
                !tag.isWeak
            {
                headers = [("if-match", tag.header)]
            }
        }
        let answer = try await service.send("DELETE", key, isFolder: isFolder, headers: headers)
        if answer.status == 404 || answer.status == 410 {
            await answer.discard()
            return false
        }
        // For a folder, a multistatus lists what could not be deleted (RFC 4918, 9.6.1).
        guard answer.isSuccess, answer.status != 207 else {
            let error = await service.error(answer)
            if answer.status != 207 { throw error }
            throw RemoteError(
                .unavailable,
                "A part of the folder '\(key)' could not be deleted.",
                key: key,
                status: answer.status
            )
        }
        await answer.discard()
        guard answer.isOdd, try await head(key) != nil else { return true }
        let request = "The deletion of '\(key)'"
        throw RemoteError.notThere(request, name, found: "still has it", key: key, status: answer.status)
    }

    /// Returns the headers for a condition if the server enforces it. Otherwise checks the condition now, before the
    /// request.
    private func headers(of condition: RemoteCondition, for key: RemoteKey) async throws -> [(
        name: String, value: String
    )] {
        if condition == .none { return [] }
        let findings = try await probe.findings()
        switch condition {
        case .none: return []
        case .isAbsent:
            if findings.capabilities.checksAbsence { return [("if-none-match", "*")] }
        case .matches(let tag):
            if findings.checksTags, !tag.isWeak { return [("if-match", tag.header)] }
        }
        let object = try await head(key)
        if object?.isFolder == true { throw RemoteError(.occupied, "'\(key)' is a folder.", key: key) }
        try condition.check(object, key: key, remote: name)
        // The version was weak when the caller read it, and is strong now.
        if case .matches = condition, findings.checksTags, let tag = object?.eTag, !tag.isWeak {
            return [("if-match", tag.header)]
        }
        return []
    }
}
