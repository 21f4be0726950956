import Foundation
import Strata
import StrataPipeline

/// Describes the queued operations and the reasons why they wait.
struct Waiting: Sendable {
    /// The queued operations for one buddy.
    struct Queue: Sendable {
        let buddy: String
        /// What waits and why, for example `2 messages wait, as bob is not here`.
        let state: String
        /// Whether the queue makes no progress.
        let isBlocked: Bool
        /// The first operations of the queue, each with the reason why it has not arrived.
        let entries: [String]
        /// The number of further operations.
        let more: Int

        /// The buddy and the state, on one line.
        var line: String { "to \(buddy): \(state)" }
    }

    /// The reason why an operation waits.
    private enum Reason {
        /// A circumstance that concerns every waiting operation.
        case circumstance(String)
        /// A property of the operation itself. The text lacks the operation's name.
        case itself(String)
        /// No obstacle remains.
        case soon
    }

    let store: ChatStore
    let connection: Connection

    /// The non-empty queues of all buddies, sorted by name.
    ///
    /// - Parameter limit: the maximum number of entries per queue.
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
        let messages = try context.count(unsent)
        var state = Self.count(messages)
        let lane = snapshot.blockedLanes.first
        if let lane, let waitReason = lane.waitReasons.first {
            let head = try context.find(lane.head)
            state = Self.state(messages, reason(waitReason, head), isExchange: try head.map(isExchange) ?? false)
        }
        return Queue(
            buddy: buddy,
            state: state,
            isBlocked: lane?.waitReasons.isEmpty == false,
            entries: try first.map { operation in "\(try title(operation, context)): \(try why(operation, context))" },
            more: snapshot.total - first.count
        )
    }

    private static func state(_ messages: Int, _ reason: Reason, isExchange: Bool) -> String {
        switch reason {
        case .circumstance(let text): return "\(count(messages)), because \(text)"
        case .itself(let text):
            let isOnly = messages == 0 || messages == 1 && !isExchange
            let first = isOnly ? "it" : isExchange ? "the exchange of keys" : "the first of them"
            return "\(count(messages)), because \(first) \(text)"
        case .soon: return count(messages, one: "is about to be sent", several: "are about to be sent")
        }
    }

    /// For example `2 messages wait`. Without messages, only keys are exchanged.
    private static func count(_ messages: Int, one: String = "waits", several: String = "wait") -> String {
        switch messages {
        case 0: "the exchange of keys \(one)"
        case 1: "1 message \(one)"
        default: "\(messages) messages \(several)"
        }
    }

    private func isExchange(_ operation: QueuedOperation) throws -> Bool {
        try operation.payload(as: Letter.self).kind == .exchange
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
        switch try operation.waitReasons().first.map({ reason($0, operation) }) {
        case .circumstance(let text), .itself(let text): return text
        case .soon, nil: return "about to be sent"
        }
    }

    private func reason(_ waitReason: WaitReason, _ operation: QueuedOperation?) -> Reason {
        switch waitReason {
        case .dependency: return .itself("waits for the exchange of keys")
        case .lane, .fullLane: return .itself("waits for the message before it")
        case .constraint(let constraint):
            guard connection.isThere else {
                let trouble = connection.trouble.map { " (\($0))" } ?? ""
                return .circumstance("there is no connection to the server" + trouble)
            }
            return constraint.buddy.map { Reason.circumstance("\($0) is not here") } ?? .soon
        case .hold(_, let date):
            let failure = operation?.failures.list.last.map { " after \"\($0.message)\"" } ?? ""
            let seconds = max(1, Int(date.timeIntervalSinceNow.rounded(.up)))
            return .itself("is retried in \(seconds) s\(failure)")
        case .noHandler: return .itself("needs a newer version of this program")
        case .fullPipeline, .fullStack, .fullGlobally, .rateLimited, .laneRateLimited, .expired: return .soon
        case .paused(let name, _): return .circumstance("\(name) has paused sending")
        case .notOpen, .claimedTwice, .suspended, .gateClosed: return .circumstance("this client does not send now")
        case .failed(let reason):
            let buddy = operation?.pipeline.buddy ?? ""
            return .itself("has failed: \(reason) (/retry \(buddy) retries it, /trust \(buddy) retries with new keys)")
        }
    }
}
