import Foundation
public import StrataCloud

extension WebDAVRemote {
    /// What is known of an object or a folder, by `PROPFIND`, and `HEAD` at servers that do not know that or do not tell versions by it.
    public func head(_ key: RemoteKey) async throws -> RemoteObject? {
        do {
            guard var own = try await service.properties(key, isFolder: key == .root, depth: 0)?.own else { return nil }
            if !own.isFolder, own.eTag == nil { own.eTag = try await version(of: key) }
            return own
        } catch let error as RemoteError where error.code == .unsupported {
            let answer = try await service.send("HEAD", key)
            // A redirect to the same place with a slash behind it: a folder.
            if answer.status == 301 { return RemoteObject(key: key, isFolder: true) }
            if answer.status == 404 || answer.status == 410 { return nil }
            guard answer.isSuccess else { throw await service.error(answer) }
            return object(key, answer, size: answer.contentLength)
        }
    }

    /// The content, by one request. The version of the answer is looked at here too, since many servers do not look at conditions of reading.
    ///
    /// - Throws: as ``Remote/get(_:range:if:)`` says; `notFound` for a folder.
    public func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws
        -> RemoteDownload
    {
        if key == .root { throw RemoteError(.notFound, "The root is a folder.", key: key) }
        var headers: [(name: String, value: String)] = []
        // A weak version never matches one in this header (RFC 9110, 13.1.1).
        if case .matches(let tag) = condition, !tag.isWeak { headers.append(("if-match", tag.header)) }
        let download = RangedDownload(range: range, condition: condition, key: key, remote: name)
        return try await download.run { header in
            try await service.send("GET", key, headers: headers + header)
        } head: {
            try await head(key)
        } object: { answer in
            object(key, answer, size: nil)
        } error: { answer in
            let error = await service.error(answer)
            // Folders are answered in many ways: with a redirect, with 403, 404 or 405.
            guard ![401, 404, 412].contains(answer.status), (try? await head(key))?.isFolder == true else {
                return error
            }
            return RemoteError(.notFound, "There is a folder in \(name), no file.", key: key, status: answer.status)
        }
    }

    /// What lies in a folder, in one part.
    ///
    /// - Throws: `notFound` where there is no such folder; `unsupported` for `isRecursive`, which many servers refuse.
    public func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        guard !isRecursive else { throw RemoteError(.unsupported, "\(name) lists one folder at a time.", key: folder) }
        let missing = RemoteError(.notFound, "There is no such folder in \(name).", key: folder)
        do {
            guard let (own, children, _) = try await service.properties(folder, isFolder: true, depth: 1),
                own?.isFolder != false
            else { throw missing }
            return RemoteListing(objects: try await withVersions(children))
        } catch let error as RemoteError where error.status == 403 || error.status == 409 {
            // A file with a slash behind its name.
            guard try await head(folder)?.isFolder == false else { throw error }
            throw missing
        }
    }

    /// The version of a file, which some servers tell only of what is read.
    private func version(of key: RemoteKey) async throws -> ETag? {
        let answer = try await service.send("HEAD", key)
        return answer.isSuccess ? answer.eTag : nil
    }

    /// The same objects with their versions, for which servers are asked one by one that do not tell them in lists.
    private func withVersions(_ objects: [RemoteObject]) async throws -> [RemoteObject] {
        var objects = objects
        var missing = objects.indices.filter { !objects[$0].isFolder && objects[$0].eTag == nil }
        guard let first = missing.popLast() else { return objects }
        objects[first].eTag = try await version(of: objects[first].key)
        // One that does not tell it of one file does not of others.
        if objects[first].eTag == nil { return objects }
        let keys = missing.map { ($0, objects[$0].key) }
        try await withThrowingTaskGroup(of: (Int, ETag?).self) { group in
            for (count, (index, key)) in keys.enumerated() {
                if count >= Self.askedAtOnce, let (index, tag) = try await group.next() { objects[index].eTag = tag }
                group.addTask { (index, try await self.version(of: key)) }
            }
            for try await (index, tag) in group { objects[index].eTag = tag }
        }
        return objects
    }

    private static let askedAtOnce = 8

    func object(_ key: RemoteKey, _ answer: HTTPAnswer, size: Int64?) -> RemoteObject {
        RemoteObject(key: key, eTag: answer.eTag, size: size, modifiedAt: answer.modifiedAt)
    }
}
