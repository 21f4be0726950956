import Strata
import StrataPipeline

/// Uploads of objects, in parts if they are large.
extension PushSession {
    /// The smallest number of parts for which a multipart upload is worth its requests.
    private static let fewestParts: Int64 = 2

    /// A written object.
    struct Written: Sendable {
        let object: RemoteObject
        /// The remote's identifier of the upload, if it was a multipart upload.
        var upload: String?
    }

    /// Writes an object. Large objects are sent in parts if the remote supports it. Parts that have arrived are not
    /// sent again, even by another process, as long as the content is the same.
    func put(
        _ body: RemoteBody,
        _ section: ContentSections,
        at key: RemoteKey,
        if condition: RemoteCondition,
        _ hash: ContentHash
    ) async throws -> Written {
        guard body.size >= pusher.partSize * Self.fewestParts, let partSize = try await partSize(of: body) else {
            return Written(object: try await remote.put(body, at: key, if: condition))
        }
        let place = MultipartTarget(node: attempt.payload.node, section: section.rawValue, key: key, hash: hash.text)
        do {
            return try await putParts(body, place, partSize, if: condition)
        } catch let error as RemoteError where error.code == .uploadGone || error.code == .conditionFailed {
            // The upload has completed and its answer was lost, or the remote has forgotten the upload.
            if let there = try await remote.head(key), try await isOwn(there, hash) {
                return Written(object: there, upload: try await abort(place))
            }
            guard error.code == .uploadGone else { throw error }
            try await forget(place)
            return try await putParts(body, place, partSize, if: condition)
        }
    }

    /// The size of parts in bytes, within the remote's limits for the size and number of parts; nil if the remote does
    /// not support parts.
    private func partSize(of body: RemoteBody) async throws -> Int64? {
        let capabilities = try await remote.capabilities()
        guard let least = capabilities.minimumPartSize else { return nil }
        guard let most = capabilities.maximumPartCount else { return max(pusher.partSize, least) }
        return max(pusher.partSize, least, body.size.dividedUp(by: Int64(max(1, most))))
    }

    private func putParts(
        _ body: RemoteBody,
        _ place: MultipartTarget,
        _ partSize: Int64,
        if condition: RemoteCondition
    ) async throws -> Written {
        var begun = try known(place)
        if let known = begun, known.contentPrint != place.hash || !known.path.hasSameBytes(as: place.key.path) {
            try await pusher.reconciler.abort(known)
            try await forget(place)
            begun = nil
        }
        let upload: String
        if let begun {
            upload = begun.upload
        } else {
            upload = try await remote.beginUpload(place.key, mark: body.mark, mediaType: body.mediaType)
            let account = info.account
            try await stack.overStore { context in
                context.insert(
                    PartialUpload(
                        account: account,
                        node: place.node,
                        section: place.section,
                        path: place.key.path,
                        contentPrint: place.hash,
                        upload: upload,
                        partSize: partSize
                    )
                )
                try context.commit()
            }
            pusher.reconciler.recordUploadBegin()
        }
        let parts = PartCounter(of: body.size, partSize: begun?.partSize ?? partSize, arrived: begun?.parts ?? [])
        let receipts = try await send(parts, of: body, upload, place)
        let object = try await remote.completeUpload(upload, parts: receipts, at: place.key, if: condition)
        guard object.size ?? body.size == body.size else {
            let found = "has \(object.size ?? 0) bytes there, not \(body.size)"
            throw RemoteError.notThere("The upload of '\(place.key)'", remote.name, found: found, key: place.key)
        }
        return Written(object: object, upload: upload)
    }

    /// Sends the missing parts, several at a time, and records each part that has arrived. After a part has failed, no
    /// other part begins, but the running ones may still arrive.
    ///
    /// - Returns: the remote's receipts of all parts, in order.
    private func send(
        _ parts: PartCounter,
        of body: RemoteBody,
        _ upload: String,
        _ place: MultipartTarget
    ) async throws -> [String] {
        for part in parts.arrived { body.onSkip?(parts.range(of: part)) }
        return try await withThrowingTaskGroup(of: (part: Int, receipt: Result<String, any Error>).self) { group in
            var parts = parts
            var missing = parts.missing.makeIterator()
            var running = 0
            var failure: (any Error)?
            while true {
                while failure == nil, running < pusher.maxConcurrentParts, let part = missing.next() {
                    let content = body.part(parts.range(of: part))
                    group.addTask { [remote] in
                        do {
                            let receipt = try await remote.uploadPart(
                                content,
                                number: part + 1,
                                of: upload,
                                at: place.key
                            )
                            return (part: part, receipt: .success(receipt))
                        } catch {
                            return (part: part, receipt: .failure(error))
                        }
                    }
                    running += 1
                }
                guard let answer = try await group.next() else { break }
                running -= 1
                do {
                    parts.record(try answer.receipt.get(), of: answer.part)
                } catch {
                    failure = failure ?? error
                    continue
                }
                let receipts = parts.receipts
                try await stack.writeOverStore(on: pusher.intents, pace: pusher.intentPace) { context in
                    try context.first(.upload(place))?.parts = receipts
                }
                try await attempt.progress(Double(parts.bytesArrived) / Double(body.size))
            }
            if let failure { throw failure }
            return parts.receipts
        }
    }

    private func known(_ place: MultipartTarget) throws -> PartialUpload.Row? {
        try stack.readOverStore { context in try context.first(.upload(place))?.snapshot }
    }

    /// Aborts a multipart upload whose object already exists.
    private func abort(_ place: MultipartTarget) async throws -> String? {
        guard let known = try known(place), known.path.hasSameBytes(as: place.key.path) else { return nil }
        try await pusher.reconciler.abort(known)
        return known.upload
    }

    private func forget(_ place: MultipartTarget) async throws {
        try await stack.writeOverStore(on: pusher.intents, pace: pusher.intentPace) { context in
            if let row = try context.first(.upload(place)) { context.delete(row) }
        }
    }
}

/// The parts of an upload that have arrived.
private struct PartCounter {
    private let size: Int64
    private let partSize: Int64
    /// The remote's receipt of each part up to the last one that has arrived; empty for a part that has not arrived.
    private(set) var receipts: [String]
    private(set) var bytesArrived: Int64 = 0

    init(of size: Int64, partSize: Int64, arrived receipts: [String]) {
        (self.size, self.partSize, self.receipts) = (size, partSize, receipts)
        for part in arrived { bytesArrived += Int64(range(of: part).count) }
    }

    /// The indices of the arrived parts, from zero.
    var arrived: [Int] { receipts.indices.filter { !receipts[$0].isEmpty } }
    var missing: [Int] {
        (0..<Int(size.dividedUp(by: partSize))).filter { $0 >= receipts.count || receipts[$0].isEmpty }
    }

    func range(of part: Int) -> Range<Int64> {
        let begin = Int64(part) * partSize
        return begin..<min(begin + partSize, size)
    }

    mutating func record(_ receipt: String, of part: Int) {
        while receipts.count <= part { receipts.append("") }
        receipts[part] = receipt
        bytesArrived += Int64(range(of: part).count)
    }
}

extension Int64 {
    fileprivate func dividedUp(by other: Int64) -> Int64 { (self + other - 1) / other }
}

/// The content of a multipart upload and its destination.
struct MultipartTarget: Sendable {
    let node: Int64
    let section: Int
    let key: RemoteKey
    let hash: String
}

extension Query where Object == PartialUpload {
    fileprivate static func upload(_ place: MultipartTarget) -> Self {
        PartialUpload.where { $0.node == place.node && $0.section == place.section }
    }
}

extension CloudContext {
    /// Deletes the row of a completed multipart upload.
    func forgetParts(_ upload: String, of number: Int64) throws {
        let known = PartialUpload.where { $0.node == number && $0.upload == upload }
        if let upload = try context.first(known) { context.delete(upload) }
    }

    /// Deletes the row about the encryption of content that has arrived.
    func forgetUploadState(of number: Int64) throws {
        if let upload = try context.first(.upload(of: number)) { context.delete(upload) }
    }
}
