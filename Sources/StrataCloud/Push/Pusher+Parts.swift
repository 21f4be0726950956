import Strata
import StrataPipeline

extension Pusher {
    /// How many parts at least make an upload in parts worth its requests.
    private static let fewestParts: Int64 = 2

    /// Writes an object, in parts where it is large and the remote takes them. Parts that have arrived are not sent again, also by another
    /// process, as long as the content is the same.
    func put(
        _ body: RemoteBody,
        _ section: ContentSections,
        at key: RemoteKey,
        if condition: RemoteCondition,
        _ print: ContentPrint,
        _ attempt: Attempt<CloudWork>
    ) async throws -> RemoteObject {
        guard body.size >= partSize * Self.fewestParts, let least = try await remote.capabilities().minimumPartSize
        else {
            return try await remote.put(body, at: key, if: condition)
        }
        let place = PartsPlace(node: attempt.payload.node, section: section.rawValue, key: key, print: print.text)
        do {
            return try await putParts(body, place, max(partSize, least), if: condition, attempt)
        } catch let error as RemoteError where error.code == .uploadGone || error.code == .conditionFailed {
            // It has come to its end, and nobody was told; or the remote has forgotten it.
            if let there = try await remote.head(key), try await isOwn(there, print) {
                try await abort(place)
                return there
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
    ) async throws -> RemoteObject {
        let known = try await known(place)
        if let known, known.contentPrint != place.print || known.path != place.key.path {
            try? await remote.abortUpload(
                known.upload,
                at: RemoteKey(found: known.path.split(separator: "/").map(String.init)) ?? place.key
            )
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
            let size = size
            try await stack.overStore { context in
                context.insert(
                    PartialUpload(
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
        return try await remote.completeUpload(upload, parts: parts, at: place.key, if: condition)
    }

    private func known(_ place: PartsPlace) async throws -> PartialUpload.Row? {
        try await stack.overStore { context in try context.first(.upload(place))?.snapshot }
    }

    /// Gives up the parts that are still at the remote of something that is there by now.
    private func abort(_ place: PartsPlace) async throws {
        guard let known = try await known(place), known.path == place.key.path else { return }
        try await remote.abortUpload(known.upload, at: place.key)
    }

    private func forget(_ place: PartsPlace) async throws {
        try await stack.overStore { context in
            if let row = try context.first(.upload(place)) { context.delete(row) }
            try context.commit()
        }
    }

    /// Gives up what was begun in parts for nodes that are being deleted.
    func abortParts(of numbers: [Int64]) async throws {
        let rows = try await stack.overStore { context in
            try context.fetch(PartialUpload.where { $0.node.in(numbers) }).map(\.snapshot)
        }
        for row in rows {
            guard let key = RemoteKey(found: row.path.split(separator: "/").map(String.init)) else { continue }
            try await remote.abortUpload(row.upload, at: key)
        }
        try await stack.overStore { context in
            for upload in try context.fetch(PartialUpload.where { $0.node.in(numbers) }) { context.delete(upload) }
            for upload in try context.fetch(SealedUpload.where { $0.node.in(numbers) }) { context.delete(upload) }
            if context.hasChanges { try context.commit() }
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
    /// Forgets the parts of an upload that has come to its end.
    func forgetParts(of number: Int64) throws {
        for upload in try context.fetch(PartialUpload.where { $0.node == number }) { context.delete(upload) }
        if let upload = try context.first(.upload(of: number)) { context.delete(upload) }
    }
}
