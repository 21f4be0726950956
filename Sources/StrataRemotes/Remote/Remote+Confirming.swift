import Strata

extension Remote {
    /// Asks by `HEAD` whether a written object exists.
    ///
    /// Size and version decide. The content is read and compared in two cases: the version is still the one that the
    /// write replaces; or the earlier object is unknown and the answer is not one that a server gives. A file of the
    /// same size may have existed before.
    ///
    /// - Parameters:
    ///   - size: the number of written bytes; nil if it is unknown.
    ///   - body: the written content, if it can be read again.
    ///   - condition: the condition of the write.
    ///   - status: the status of the server's answer to the write, if the remote speaks HTTP.
    ///   - isOddAnswer: whether the answer is not one that a server gives to such a request.
    /// - Returns: the object at the remote.
    /// - Throws: ``RemoteError`` with `malformedAnswer` if the object is missing, is another one, or does not have a
    ///   version.
    package func confirmWrite(
        at key: RemoteKey,
        size: Int64?,
        body: RemoteBody? = nil,
        replacing condition: RemoteCondition = .isAbsent,
        status: Int? = nil,
        isOddAnswer: Bool = false
    ) async throws -> RemoteObject {
        let upload = "The upload of '\(key)'"
        guard let there = try await head(key)?.versioned, !there.isFolder else {
            throw RemoteError.notThere(upload, name, key: key, status: status)
        }
        guard let tag = there.eTag else {
            throw RemoteError(
                .malformedAnswer,
                "\(name) reports no version of '\(key)': neither an ETag nor a size and a time. Without a version, "
                    + "changes cannot be detected; use another server.",
                key: key,
                status: status
            )
        }
        if let size, there.size != size {
            let found = there.size.map { "\($0) bytes" } ?? "an unknown number of bytes"
            throw RemoteError.notThere(upload, name, found: "has \(found) there, not \(size)", key: key, status: status)
        }
        let isDoubtful =
            switch condition {
            case .none: isOddAnswer
            case .isAbsent: false
            case .matches(let old): old.value.hasSameBytes(as: tag.value)
            }
        guard isDoubtful, let body else { return there }
        let isSame = try await ContentHash(of: get(key, range: nil, if: .none).chunks) == ContentHash(of: body)
        guard isSame else {
            throw RemoteError.notThere(upload, name, found: "has the old content", key: key, status: status)
        }
        return there
    }
}

extension RemoteError {
    /// The error of a server that has answered a write, but does not have the written object.
    package static func notThere(
        _ request: String,
        _ remote: String,
        found: String = "does not have it",
        key: RemoteKey,
        status: Int? = nil
    ) -> RemoteError {
        let answered = status.map { "with \($0)" } ?? "with success"
        return RemoteError(
            .malformedAnswer,
            "\(request) was answered \(answered), but \(remote) \(found). A proxy or a login page may have answered "
                + "instead: check the network. The request is retried.",
            key: key,
            status: status
        )
    }
}
