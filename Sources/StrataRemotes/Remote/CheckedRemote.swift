import Foundation

/// A remote as the parts of an account use it: it confirms writes, and gives every file a version.
///
/// - **A write succeeds only if the object was seen**: an answer without a version is followed by a `HEAD` request. The
///   `HEAD` must find a version and the size that was sent. Otherwise the write throws `malformedAnswer`, and is
///   retried.
/// - **A file without an ETag gets a version of last resort**, made of its size and the time of its last write
///   (``ETag/ofLastResort(size:modifiedAt:)``). Remotes do not know these versions, so conditions on them are checked
///   here, just before the request.
package struct CheckedRemote: Remote {
    private let base: any Remote

    package init(_ base: any Remote) { self.base = (base as? CheckedRemote)?.base ?? base }

    package var name: String { base.name }

    package func capabilities() async throws -> RemoteCapabilities { try await base.capabilities() }

    // MARK: Reading

    package func head(_ key: RemoteKey) async throws -> RemoteObject? { try await base.head(key)?.versioned }

    package func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws
        -> RemoteDownload
    {
        let isChecked = condition.isOfLastResort
        var download = try await base.get(key, range: range, if: isChecked ? .none : condition)
        download.object = download.object.versioned
        if isChecked { try condition.check(download.object, key: key, remote: name) }
        return download
    }

    package func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        var listing = try await base.list(folder, isRecursive: isRecursive, after: next)
        listing.objects = listing.objects.map(\.versioned)
        return listing
    }

    // MARK: Writing

    package func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws
        -> RemoteObject
    {
        let object = try await base.put(body, at: key, if: try await remaining(condition, of: key))
        if object.eTag != nil, object.size ?? body.size == body.size { return object }
        return try await confirmWrite(at: key, size: body.size, body: body, replacing: condition)
    }

    package func createFolder(_ key: RemoteKey) async throws -> Bool { try await base.createFolder(key) }

    package func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        guard condition.isOfLastResort, !isFolder else {
            return try await base.delete(key, isFolder: isFolder, if: condition)
        }
        // If the object is gone already, no condition fails.
        guard let there = try await head(key) else { return false }
        try condition.check(there, key: key, remote: name)
        return try await base.delete(key, isFolder: isFolder, if: .none)
    }

    package func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        var version = version
        if let tag = version, tag.isOfLastResort {
            guard let there = try await head(source) else {
                throw RemoteError(.notFound, "'\(source)' does not exist in \(name).", key: source)
            }
            try RemoteCondition.matches(tag).check(there, key: source, remote: name)
            version = nil
        }
        let copy = try await base.copy(source, to: target, version: version)
        return copy.eTag == nil ? try await confirmWrite(at: target, size: copy.size) : copy
    }

    package func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        try await base.move(source, to: target, isFolder: isFolder)
        guard let there = try await base.head(target), there.isFolder == isFolder else {
            throw RemoteError.notThere("The move to '\(target)'", name, key: target)
        }
    }

    // MARK: Writing in parts

    package func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        try await base.beginUpload(key, mark: mark, mediaType: mediaType)
    }

    package func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws
        -> String
    {
        try await base.uploadPart(body, number: number, of: upload, at: key)
    }

    package func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        let condition = try await remaining(condition, of: key)
        let object = try await base.completeUpload(upload, parts: parts, at: key, if: condition)
        return object.eTag == nil ? try await confirmWrite(at: key, size: object.size) : object
    }

    package func abortUpload(_ upload: String, at key: RemoteKey) async throws {
        try await base.abortUpload(upload, at: key)
    }

    /// Checks a condition on a version of last resort, immediately before the request.
    ///
    /// - Returns: the condition that the remote still has to check.
    private func remaining(_ condition: RemoteCondition, of key: RemoteKey) async throws -> RemoteCondition {
        guard condition.isOfLastResort else { return condition }
        try condition.check(try await head(key), key: key, remote: name)
        return .none
    }
}

extension RemoteCondition {
    fileprivate var isOfLastResort: Bool {
        if case .matches(let tag) = self { tag.isOfLastResort } else { false }
    }
}

extension RemoteObject {
    /// The same object. A file without an ETag gets a version of its size and time, if the remote gives both.
    package var versioned: RemoteObject {
        guard !isFolder, eTag == nil, let size, let modifiedAt else { return self }
        var object = self
        object.eTag = .ofLastResort(size: size, modifiedAt: modifiedAt)
        return object
    }
}
