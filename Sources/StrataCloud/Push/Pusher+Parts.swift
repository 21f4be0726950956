import Strata
import StrataPipeline

extension Pusher {
    /// How many parts at least make an upload in parts worth its requests.
    private static let fewestParts: Int64 = 2

    /// What has been written.
    struct Written: Sendable {
        let object: RemoteObject
        /// By what the remote has known the upload, if it was in parts.
        var upload: String?
    }

    /// Writes an object, in parts where it is large and the remote takes them. Parts that have arrived are not sent again, also by another
    /// process, as long as the content is the same.
    func put(
        _ body: RemoteBody,
        _ section: ContentSections,
        at key: RemoteKey,
        if condition: RemoteCondition,
        _ print: ContentPrint,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Written {
        guard body.size >= partSize * Self.fewestParts, let least = try await remote.capabilities().minimumPartSize
        else {
            return Written(object: try await remote.put(body, at: key, if: condition))
        }
        let place = PartsPlace(node: attempt.payload.node, section: section.rawValue, key: key, print: print.text)
        do {
            return try await putParts(body, place, max(partSize, least), if: condition, attempt)
        } catch let error as RemoteError where error.code == .uploadGone || error.code == .conditionFailed {
            // It has come to its end, and nobody was told; or the remote has forgotten it.
            if let there = try await remote.head(key), try await isOwn(there, print) {
                return Written(object: there, upload: try await abort(place))
            }
            guard error.code == .uploadGone else { throw error }
            try await forget(place)
            return try await putParts(body, place, max(partSize, least), if: condition, attempt)
        }
    }

    private func putParts(
        _ body: RemoteBody,
        _ place: PartsPlace,
        _ partSize: Int64,
        if condition: RemoteCondition,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Written {
        let known = try await known(place)
        if let known, known.contentPrint != place.print || known.path != place.key.path {
            try await abandoned.abort(known)
            try await forget(place)
        }
        let begun = known.flatMap { $0.contentPrint == place.print && $0.path == place.key.path ? $0 : nil }
        let upload: String
        var (parts, size) = (begun?.parts ?? [], begun?.partSize ?? partSize)
        if let begun {
            upload = begun.upload
        } else {
            upload = try await remote.beginUpload(place.key, mark: body.mark, mediaType: body.mediaType)
            (parts, size) = ([], partSize)
            let (account, size) = (facts.account, size)
            try await stack.overStore { context in
                context.insert(
                    PartialUpload(
                        account: account,
                        node: place.node,
                        section: place.section,
                        path: place.key.path,
                        contentPrint: place.print,
                        upload: upload,
                        partSize: size
                    )
                )
                try context.commit()
            }
            abandoned.noteBegin()
        }
        while Int64(parts.count) * size < body.size {
            let begin = Int64(parts.count) * size
            let part = body.part(begin..<min(begin + size, body.size))
            parts.append(try await remote.uploadPart(part, number: parts.count + 1, of: upload, at: place.key))
            let arrived = parts
            try await stack.overStore { context in
                try context.first(.upload(place))?.parts = arrived
                try context.commit()
            }
            try await attempt.progress(Double(begin + part.size) / Double(body.size))
        }
        let object = try await remote.completeUpload(upload, parts: parts, at: place.key, if: condition)
        return Written(object: object, upload: upload)
    }

    private func known(_ place: PartsPlace) async throws -> PartialUpload.Row? {
        try await stack.overStore { context in try context.first(.upload(place))?.snapshot }
    }

    /// Gives up the parts that are still at the remote of something that is there by now.
    private func abort(_ place: PartsPlace) async throws -> String? {
        guard let known = try await known(place), known.path == place.key.path else { return nil }
        try await abandoned.abort(known)
        return known.upload
    }

    private func forget(_ place: PartsPlace) async throws {
        try await stack.overStore { context in
            if let row = try context.first(.upload(place)) { context.delete(row) }
            try context.commit()
        }
    }
}

/// What is sent in parts, and to where.
struct PartsPlace: Sendable {
    let node: Int64
    let section: Int
    let key: RemoteKey
    let print: String
}

extension Query where Object == PartialUpload {
    fileprivate static func upload(_ place: PartsPlace) -> Self {
        PartialUpload.where { $0.node == place.node && $0.section == place.section }
    }
}

extension CloudContext {
    /// Forgets an upload in parts that has come to its end.
    func forgetParts(_ upload: String, of number: Int64) throws {
        let known = PartialUpload.where { $0.node == number && $0.upload == upload }
        if let upload = try context.first(known) { context.delete(upload) }
    }

    /// Forgets how content was sealed that has arrived.
    func forgetSeal(of number: Int64) throws {
        if let upload = try context.first(.upload(of: number)) { context.delete(upload) }
    }
}
