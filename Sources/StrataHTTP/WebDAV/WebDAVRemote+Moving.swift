public import StrataRemotes

extension WebDAVRemote {
    /// Copies an object within the server. The version is checked before the request, because the protocol has no
    /// condition for the source.
    public func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        guard let object = try await head(source), !object.isFolder else {
            throw RemoteError(.notFound, "'\(source)' does not exist in \(name).", key: source)
        }
        if let version { try RemoteCondition.matches(version).check(object, key: source, remote: name) }
        try await transfer("COPY", source, to: target, isFolder: false)
        return try await confirmWrite(at: target, size: object.size)
    }

    /// Moves an object within the server, or a folder with all its contents.
    public func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        guard !target.isWithin(source), source != .root else {
            throw RemoteError(.occupied, "'\(source)' cannot be moved into itself.", key: target)
        }
        guard let object = try await head(source), object.isFolder == isFolder else {
            throw RemoteError(
                .notFound,
                "The \(isFolder ? "folder" : "object") '\(source)' does not exist in \(name).",
                key: source
            )
        }
        try await transfer("MOVE", source, to: target, isFolder: isFolder)
    }

    private func transfer(_ method: String, _ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        // The header `Overwrite` alone does not suffice, because some servers interpret it differently for folders.
        if try await head(target) != nil {
            throw RemoteError(.conditionFailed, "'\(target)' already exists.", key: target)
        }
        let answer = try await service.send(
            method,
            source,
            isFolder: isFolder,
            headers: [("destination", service.url(target, isFolder: isFolder)), ("overwrite", "F")]
        )
        if answer.isSuccess, answer.status != 207 {
            await answer.discard()
            guard answer.isOdd || answer.status == 200 else { return }
            // The specification does not allow 200 for either method (RFC 4918, 9.8.5, 9.9.4).
            var isDone = try await head(target)?.isFolder == isFolder
            if isDone, method == "MOVE" { isDone = try await head(source) == nil }
            guard isDone else {
                throw RemoteError.notThere("\(method) to '\(target)'", name, key: target, status: answer.status)
            }
            return
        }
        let error = await service.error(answer, writes: true)
        if answer.status == 207 {
            throw RemoteError(
                .unavailable,
                "The server carried out only a part of the request.",
                key: target,
                status: 207
            )
        }
        if answer.status == 412 { throw RemoteError(.conditionFailed, error.message, key: target, status: 412) }
        if [400, 403, 404, 405, 409, 500].contains(answer.status), let parent = target.parent,
            try await head(parent)?.isFolder != true
        {
            throw missingParent(of: target, answer)
        }
        throw error
    }
}
