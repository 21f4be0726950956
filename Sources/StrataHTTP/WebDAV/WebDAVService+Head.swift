import StrataRemotes

extension WebDAVService {
    /// Returns the properties of an object or a folder. Uses `PROPFIND`, and `HEAD` at servers that do not support
    /// `PROPFIND` or omit properties.
    func head(_ key: RemoteKey) async throws -> RemoteObject? {
        do {
            guard let own = try await properties(key, isFolder: key == .root, depth: 0)?.own else { return nil }
            return try await completed(own).versioned
        } catch let error as RemoteError where error.code == .unsupported {
            let answer = try await send("HEAD", key)
            if isRedirectToCollection(answer) { return RemoteObject(key: key, isFolder: true) }
            if answer.status == 404 || answer.status == 410 { return nil }
            guard answer.isSuccess else { throw await self.error(answer) }
            return object(key, answer, size: answer.contentLength).versioned
        } catch let error as RemoteError where error.status == 400 || error.status == 403 {
            // Apache and lighttpd answer with these statuses for a path below a file, where no object can exist.
            guard let parent = key.parent, try await head(parent)?.isFolder != true else { throw error }
            return nil
        }
    }

    /// Adds the version and size to a file, because some servers report them only for a request to the file itself.
    ///
    /// - Throws: the server's error, unless the status means that the server does not report these properties. A
    ///   version that is only temporarily unavailable must not count as missing.
    func completed(_ object: RemoteObject) async throws -> RemoteObject {
        guard !object.isFolder, object.eTag == nil || object.size == nil else { return object }
        let answer = try await send("HEAD", object.key)
        guard answer.isSuccess else {
            if [401, 403, 404, 405, 410, 501].contains(answer.status) { return object }
            throw await error(answer)
        }
        var object = object
        object.eTag = object.eTag ?? answer.eTag
        if answer.encoding == nil { object.size = object.size ?? answer.contentLength }
        object.modifiedAt = object.modifiedAt ?? answer.modifiedAt
        return object
    }

    /// The object that an answer's headers describe.
    func object(_ key: RemoteKey, _ answer: HTTPAnswer, size: Int64?) -> RemoteObject {
        RemoteObject(key: key, eTag: answer.eTag, size: size, modifiedAt: answer.modifiedAt)
    }
}
