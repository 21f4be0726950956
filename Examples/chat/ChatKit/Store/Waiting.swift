import Foundation
import Strata
import StrataPipeline

/// What waits, and why, in words.
struct Waiting: Sendable {
    /// What waits for one buddy.
    struct Queue: Sendable {
        let buddy: String
        let messages: Int
        /// Why it does not go on; nil where it does.
        let reason: String?
        /// The first of what is queued, each with why it has not arrived.
        let entries: [String]
        /// How many there are behind those.
        let more: Int

        /// As in `2 messages wait`.
        var count: String { messages == 1 ? "1 message waits" : "\(messages) messages wait" }
    }

    let store: ChatStore
    let connection: Connection

    /// The queues of all buddies for whom something waits, by name.
    ///
    /// - Parameter limit: how many entries of each are wanted.
    func queues(entries limit: Int) async throws -> [Queue] {
        try await store.stack.background { context in
            try context.pipelineSnapshots().filter { $0.name.isChat }.map { snapshot in
                try queue(snapshot, limit, context)
            }
        }
    }

    private func queue(_ snapshot: PipelineSnapshot, _ limit: Int, _ context: ObjectContext) throws -> Queue {
        let (name, buddy, user) = (snapshot.name, snapshot.name.buddy, store.user)
        let unsent = Message.where { $0.buddy.name == buddy && $0.sender == user && !$0.isDelivered }
        let queued = QueuedOperation.where { $0.pipeline == name }.sorted {
            [$0.sortKey.ascending, $0.commit.ascending, $0.id.ascending]
        }
        let first = limit > 0 ? try context.first(limit, of: queued) : []
        let reason = try snapshot.blockedLanes.first.flatMap { lane in
            try lane.blockers.first.map { blocker in try text(of: blocker, context.find(lane.head), context) }
        }
        return Queue(
            buddy: buddy,
            messages: try context.count(unsent),
            reason: reason,
            entries: try first.map { operation in "\(try title(operation, context)): \(try why(operation, context))" },
            more: snapshot.total - first.count
        )
    }

    private func title(_ operation: QueuedOperation, _ context: ObjectContext) throws -> String {
        switch try operation.payload(as: Letter.self).kind {
        case .exchange: return "the exchange of keys"
        case .message:
            let text = try context.first(.sent(operation.id.description, by: store.user))?.text ?? ""
            return "\"\(text.count > 40 ? text.prefix(39) + "…" : text)\""
        }
    }

    private func why(_ operation: QueuedOperation, _ context: ObjectContext) throws -> String {
        if operation.status == .active { return "sent, and not confirmed yet" }
        guard let blocker = try operation.blockers().first else { return "about to be sent" }
        return try text(of: blocker, operation, context)
    }

    private func text(
        of blocker: Blocker,
        _ operation: QueuedOperation?,
        _ context: ObjectContext
    ) throws -> String {
        switch blocker {
        case .dependency: return "waits for the exchange of keys"
        case .lane: return "waits for the one before it"
        case .constraint(let constraint):
            guard connection.isThere else {
                return "there is no connection to the server" + (connection.trouble.map { " (\($0))" } ?? "")
            }
            return constraint.buddy.map { "\($0) is not here" } ?? "is about to be sent"
        case .hold(_, let date):
            let failure = operation?.failures.list.last.map { " after \"\($0.message)\"" } ?? ""
            return "is tried again in \(max(1, Int(date.timeIntervalSinceNow.rounded(.up)))) s\(failure)"
        case .failed(let reason):
            let buddy = operation?.pipeline.buddy ?? ""
            return "has failed: \(reason) (/retry \(buddy) tries it again, /trust \(buddy) with new keys)"
        }
    }
}
