import Strata
import StrataPipeline
import Synchronization

/// Gives up at the remote the parts of uploads that nobody goes on with: their content has become small, or there is none any more, the upload was
/// left out, its conflict was resolved otherwise, or the node was deleted.
///
/// What was begun is a row, which outlives the process that has begun it. It is needed as long as an upload of its node is queued. So this looks
/// when an account is opened, and then whenever what is queued has changed while there are rows, for those that are not. What cannot be given up is
/// left until the remote can be reached again, another upload begins or the account is opened.
final class AbandonedUploads: Sendable {
    private let stack: ContextStack
    private let facts: AccountFacts
    private let remote: any Remote
    private let looks = RepeatedTask()
    /// How often there was a reason to look: at the opening, whenever an upload has begun, and where the remote may be reached again.
    private let reasons = Atomic(1)
    /// How many of them there were before the last look that has found nothing which is still needed.
    private let settled = Atomic(0)

    init(_ stack: ContextStack, _ facts: AccountFacts, _ remote: any Remote) {
        (self.stack, self.facts, self.remote) = (stack, facts, remote)
    }

    /// Notes that an upload has begun, behind the commit that says so.
    func noteBegin() { reasons.add(1, ordering: .acquiringAndReleasing) }

    /// Notes commits, which may have ended uploads.
    func note(_ news: [ChangeSet]?) {
        if news?.contains(where: { $0.contains(QueuedOperation.self) }) ?? true { look() }
    }

    /// Looks once more for what could not be given up.
    func lookAnew() {
        noteBegin()
        look()
    }

    private func look() {
        // As long as a look is under way, what comes meanwhile asks for another one.
        guard reasons.load(ordering: .acquiring) != settled.load(ordering: .acquiring) else { return }
        looks.ask {
            do { try await self.giveUp() } catch {
                self.stack.log(.warning, "uploads that were begun cannot be looked at: \(error)")
            }
        }
    }

    /// Waits for the looks that are under way.
    func settle() async { await looks.settle() }

    func stop() async { await looks.stop() }

    private struct Begun: Sendable {
        let row: PartialUpload.Row
        let isNeeded: Bool
    }

    private func giveUp() async throws {
        let facts = facts
        // Before the rows are read: what begins behind that is one more.
        let reasons = reasons.load(ordering: .acquiring)
        let begun = try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            return try cloud.begunUploads().map { Begun(row: $0.snapshot, isNeeded: try cloud.hasUploads($0.node)) }
        }
        if !begun.contains(where: \.isNeeded) { settled.store(reasons, ordering: .releasing) }
        for begun in begun where !begun.isNeeded {
            do { try await giveUp(begun.row) } catch {
                stack.log(.info, "what was sent of '\(begun.row.path)' stays at the remote for now: \(error)")
            }
        }
    }

    /// Behind a crash in between it is given up once more, which does nothing.
    private func giveUp(_ row: PartialUpload.Row) async throws {
        try await abort(row)
        let facts = facts
        try await stack.overStore { context in
            guard let upload = try context.find(row.id) else { return }
            // Who has queued an upload of the same node meanwhile finds that the remote has forgotten the parts.
            guard try !CloudContext(context, facts).hasUploads(row.node) else { return self.noteBegin() }
            context.delete(upload)
            try CloudContext(context, facts).forgetSeal(of: row.node)
            try context.commit()
        }
    }

    /// Has the remote forget an upload.
    func abort(_ row: PartialUpload.Row) async throws {
        guard let key = RemoteKey(path: row.path) else { return }
        do { try await remote.abortUpload(row.upload, at: key) } catch let error as RemoteError
            where error.code == .forbidden
        {
            // It goes as the rules of the remote say.
            stack.log(.info, "parts of \(key) stay at the remote: \(error)")
        }
    }
}

extension CloudContext {
    /// The uploads in parts that have begun.
    fileprivate func begunUploads() throws -> [PartialUpload] {
        let account = account
        return try context.fetch(PartialUpload.where { $0.account == account })
    }

    /// Whether content of a node is queued to be sent, or being sent.
    fileprivate func hasUploads(_ number: Int64) throws -> Bool {
        try context.fetch(queued(for: number)).contains {
            // A copy whose source is not at the remote is sent as well.
            [.content, .copy].contains(try $0.payload(as: CloudWork.self).kind)
        }
    }
}
