import Foundation
import Strata
public import StrataRemotes

extension WebDAVRemote {
    /// Returns the properties of an object or a folder. Uses `PROPFIND`, and `HEAD` at servers that do not support
    /// `PROPFIND` or omit versions from its answers.
    public func head(_ key: RemoteKey) async throws -> RemoteObject? {
        try await service.head(key)
    }

    /// Downloads the content, by one request. The answer's version is checked here too, because many servers ignore
    /// conditions of reads.
    ///
    /// - Throws: as `Remote.get(_:range:if:)` says; `notFound` for a folder.
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
            service.object(key, answer, size: nil)
        } error: { answer in
            let error = await service.error(answer)
            // Servers answer requests for a folder in different ways: with a redirect, or with 403, 404 or 405.
            guard ![401, 404, 412].contains(answer.status), (try? await head(key))?.isFolder == true else {
                return error
            }
            return RemoteError(
                .notFound,
                "'\(key)' in \(name) is a folder, not a file.",
                key: key,
                status: answer.status
            )
        }
    }

    /// Lists the contents of a folder in one page.
    ///
    /// - Throws: `notFound` if the folder does not exist; `unsupported` for `isRecursive`, which many servers refuse.
    public func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        guard !isRecursive else { throw RemoteError(.unsupported, "\(name) lists one folder at a time.", key: folder) }
        let missing = RemoteError(.notFound, "The folder '\(folder)' does not exist in \(name).", key: folder)
        do {
            guard let found = try await service.properties(folder, isFolder: true, depth: 1),
                found.own?.isFolder != false
            else { throw missing }
            return RemoteListing(objects: try await withVersions(found.children), isComplete: found.isComplete)
        } catch let error as RemoteError where [400, 403, 409].contains(error.status) {
            // The URL of a file with a trailing slash.
            guard try await head(folder)?.isFolder == false else { throw error }
            throw missing
        }
    }

    /// Adds missing versions to the objects. If a server omits versions from listings, this asks for each file
    /// separately.
    ///
    /// Some servers report versions only for certain file types. So this first asks for one file per file extension. If
    /// the server does not report its version, the other files with that extension are skipped.
    private func withVersions(_ objects: [RemoteObject]) async throws -> [RemoteObject] {
        var objects = objects
        let missing = objects.indices.filter { !objects[$0].isFolder && objects[$0].eTag == nil }
        let alike = Dictionary(grouping: missing) {
            objects[$0].key.last.flatMap(Self.ending).map(UTF8Text.init(_:)) ?? ""
        }
        try await ask(alike.values.compactMap(\.last), &objects)
        let told = alike.values.filter { $0.last.map { objects[$0].eTag != nil } ?? false }
        try await ask(told.flatMap { $0.dropLast() }, &objects)
        return objects.map(\.versioned)
    }

    /// The file extension with its dot. Nil for a name without one.
    private static func ending(of name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return String(name[dot...])
    }

    /// Asks the server for the versions of some of the objects, at most eight at a time.
    private func ask(_ indices: [Int], _ objects: inout [RemoteObject]) async throws {
        let asked = indices.map { ($0, objects[$0]) }
        try await withThrowingTaskGroup(of: (Int, RemoteObject).self) { group in
            for (count, (index, object)) in asked.enumerated() {
                if count >= Self.askedAtOnce, let (index, object) = try await group.next() { objects[index] = object }
                group.addTask { (index, try await self.service.completed(object)) }
            }
            for try await (index, object) in group { objects[index] = object }
        }
    }

    private static let askedAtOnce = 8
}
