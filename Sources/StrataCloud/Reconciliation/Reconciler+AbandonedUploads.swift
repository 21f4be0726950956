import Strata
import StrataPipeline

/// Multipart uploads that no operation continues are aborted at the remote. The content has become small or does not
/// exist any more, the upload was skipped, its conflict was resolved otherwise, or the node was deleted.
///
/// Each started upload has a row, which survives the process that started it. The row is needed as long as an upload of
/// its node is queued. The step looks for rows that are not needed when the account is opened. After that it looks
/// whenever the queued operations change while such rows exist. An upload that cannot be aborted stays until the remote
/// is reachable again, another upload begins, or the account is opened.
extension Reconciler {
    /// The reasons to look for uploads.
    struct UploadNews {
        /// The number of reasons so far: the opening, each start of an upload, and each time the remote may be
        /// reachable again.
        var reasons = 1
        /// The number of these reasons before the last look that found no needed upload.
        var handledReasons = 0

        var isDue: Bool { reasons != handledReasons }
    }

    /// Records that an upload has begun, after the commit that says so.
    func recordUploadBegin() { state.withLock { $0.uploads.reasons += 1 } }

    /// Aborts the uploads that no operation continues.
    func abortAbandonedUploads() async {
        let info = info
        // The counter is read before the rows: an upload that begins later counts as a new reason.
        let reasons = state.withLock { $0.uploads.reasons }
        let begun: [(row: PartialUpload.Row, isNeeded: Bool)]
        do {
            begun = try await stack.overStore { context in
                let cloud = CloudContext(context, info)
                return try cloud.begunUploads().map { (row: $0.snapshot, isNeeded: try cloud.hasUploads($0.node)) }
            }
        } catch {
            return stack.log(.warning, "unfinished uploads cannot be read: \(error)")
        }
        if !begun.contains(where: \.isNeeded) { state.withLock { $0.uploads.handledReasons = reasons } }
        for begun in begun where !begun.isNeeded {
            do { try await giveUp(begun.row) } catch {
                stack.log(.info, "uploaded parts of '\(begun.row.path)' stay at the remote for now: \(error)")
            }
        }
    }

    /// Aborts an upload and deletes its row. After a crash in between, the upload is aborted again, which has no
    /// effect.
    private func giveUp(_ row: PartialUpload.Row) async throws {
        try await abort(row)
        let info = info
        try await stack.overStore { context in
            guard let upload = try context.find(row.id) else { return }
            // If an upload of the same node was queued in the meantime, it finds that the remote has forgotten the
            // parts.
            guard try !CloudContext(context, info).hasUploads(row.node) else { return self.recordUploadBegin() }
            context.delete(upload)
            try CloudContext(context, info).forgetUploadState(of: row.node)
            try context.commit()
        }
    }

    /// Aborts an upload at the remote.
    func abort(_ row: PartialUpload.Row) async throws {
        guard let key = RemoteKey(path: row.path) else { return }
        do { try await remote.abortUpload(row.upload, at: key) } catch let error as RemoteError
            where error.code == .forbidden
        {
            // The remote's own rules remove the parts later.
            stack.log(.info, "parts of \(key) stay at the remote: \(error)")
        }
    }
}

extension CloudContext {
    /// The multipart uploads that have begun.
    fileprivate func begunUploads() throws -> [PartialUpload] {
        let account = account
        return try context.fetch(PartialUpload.where { $0.account == account })
    }

    /// Whether an upload of a node's content is queued or running.
    fileprivate func hasUploads(_ number: Int64) throws -> Bool {
        try context.fetch(queued(for: number)).contains {
            // A copy uploads the content if its source is not at the remote.
            [.content, .copy].contains(try $0.payload(as: CloudWork.self).kind)
        }
    }
}
