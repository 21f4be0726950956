import Foundation
import Strata

/// Copies and moves of single objects.
extension PushSession {
    /// Copies an object, through this machine if the remote does not support copies. An existing object with the same
    /// content counts as the copy.
    func duplicate(
        _ source: RemoteKey,
        to destination: RemoteKey,
        version: ETag?,
        _ capabilities: RemoteCapabilities
    ) async throws -> RemoteObject {
        do {
            if capabilities.copies { return try await remote.copy(source, to: destination, version: version) }
            guard let object = try await remote.head(source) else {
                throw RemoteError(.notFound, "\(source) does not exist.", key: source)
            }
            if let version, !ETag.isSame(object.eTag, version.stored) {
                throw RemoteError(.conditionFailed, "\(source) has another version.", key: source)
            }
            return try await remote.put(remote.body(of: object), at: destination, if: .isAbsent)
        } catch let error as RemoteError where error.code == .conditionFailed {
            guard let from = try await remote.head(source), let to = try await remote.head(destination),
                from.size == to.size
            else { throw error }
            if let mark = from.mark, to.mark.hasSameBytes(as: mark) { return to }
            let hash = try await ContentHash(of: remote.get(source, range: nil, if: .none).chunks)
            guard try await isOwn(to, hash) else { throw error }
            return to
        }
    }

    /// Moves a file, or a folder of a remote that has folders.
    ///
    /// - Returns: whether the object at the destination is known to be the previous object.
    func carryOne(
        _ source: RemoteKey,
        to destination: RemoteKey,
        isFolder: Bool,
        _ capabilities: RemoteCapabilities,
        _ row: RemoteNode.Row? = nil
    ) async throws -> Bool {
        do {
            if capabilities.moves || isFolder {
                try await remote.move(source, to: destination, isFolder: isFolder)
            } else {
                guard let file = try await remote.head(source),
                    let carried = try await carry(file, to: destination, capabilities)
                else { throw RemoteError(.notFound, "\(source) does not exist.", key: source) }
                if let row, row.isCertain { return ETag.isSame(carried.eTag, row.eTag) }
            }
            return true
        } catch let error as RemoteError where Self.mayBeDone.contains(error.code) {
            // An earlier attempt may have moved the object and lost the answer. Then the source is missing and the
            // destination exists.
            let isGone = try await remote.head(source) == nil
            guard isGone, let there = try await remote.head(destination), there.isFolder == isFolder else {
                throw error
            }
            // Otherwise one machine has deleted the source, and another one has created the destination.
            guard let row, !isFolder, !ETag.isSame(there.eTag, row.eTag) else { return true }
            if try await isOwn(there, anyOf: row.hashes) { return true }
            // A copy has a new version. If the content has not passed through this machine, only its size is known. The
            // pull finds the rest.
            guard row.hashes.isEmpty, let size = row.size, there.size == size else {
                throw RemoteError(.notFound, "\(source)", key: source)
            }
            return false
        }
    }

    private static let mayBeDone: Set<RemoteError.Code> = [.notFound, .conditionFailed, .occupied]

    /// Moves a file with a copy and a delete, in its current version: other machines may write or delete it at the same
    /// moment.
    ///
    /// - Returns: the version that was moved; nil if other machines have deleted the file.
    func carry(
        _ file: RemoteObject,
        to destination: RemoteKey,
        _ capabilities: RemoteCapabilities
    ) async throws -> RemoteObject? {
        var next: RemoteObject? = file
        for _ in 0..<Self.carryLimit {
            guard let object = next else { return nil }
            let copy: RemoteObject
            do {
                copy = try await duplicate(object.key, to: destination, version: object.eTag, capabilities)
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .notFound {
                next = try await remote.head(object.key)
                // The source has not changed, so another object is at the destination.
                if error.code == .conditionFailed, let next, ETag.isSame(next.eTag, object.eTag?.stored) { throw error }
                continue
            }
            do {
                try await remote.delete(
                    object.key,
                    isFolder: false,
                    if: object.eTag.map { .matches($0) } ?? .none
                )
                return object
            } catch let error as RemoteError where error.code == .conditionFailed {
                // The copy is not the current version.
                try await remote.delete(destination, isFolder: false, if: copy.eTag.map { .matches($0) } ?? .none)
                next = try await remote.head(object.key)
            }
        }
        throw RemoteError(
            .unavailable,
            "\(file.key) keeps changing during its move.",
            key: file.key
        )
    }

    private static let carryLimit = 5
}

extension Remote {
    /// The content of the current version of an object at the remote, read through this machine.
    func body(of object: RemoteObject) -> RemoteBody {
        var body = RemoteBody(size: object.size ?? 0) { range in
            if range.isEmpty { return AsyncThrowingStream { $0.finish() } }
            return try await self.get(object.key, range: range, if: object.eTag.map { .matches($0) } ?? .none).chunks
        }
        body.mark = object.mark
        return body
    }
}
