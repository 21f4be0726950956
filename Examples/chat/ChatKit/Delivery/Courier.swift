import Foundation
import Strata
import StrataPipeline

/// Delivers letters to the buddy that their queue is named after. A delivery is done when the buddy has acknowledged
/// it.
struct Courier: TaskHandler {
    let store: ChatStore
    let connection: Connection

    func handle(_ attempt: Attempt<Letter>) async throws -> Outcome {
        let buddy = attempt.pipeline.buddy
        let operation = attempt.id.description
        guard let content = try await content(of: attempt.payload, operation, for: buddy) else { return .skip }
        while true {
            try Task.checkCancellation()
            let waiter = connection.replies.waiter(for: operation, from: buddy)
            defer { connection.replies.end(waiter) }
            guard connection.isThere else { return .wait(.server) }
            guard connection.isHere(buddy) else { return .wait(.buddy(buddy)) }
            guard try await connection.send(Parcel(content, operation: operation), to: buddy) else {
                return .wait(.server)
            }
            switch try await waiter.reply() {
            case .answer(let answer): return try await outcome(of: answer, to: attempt.payload, operation, from: buddy)
            // The parcel may or may not have arrived. The buddy recognises a repeat.
            case .none: continue
            }
        }
    }

    /// - Returns: nil if the message is no longer in the store.
    /// - Throws: ``NoKey``.
    private func content(of letter: Letter, _ operation: String, for name: String) async throws -> Parcel.Content? {
        let user = store.user
        return try await store.stack.background { context in
            guard let buddy = try context.first(Buddy.where { $0.name == name }) else { return nil }
            let keys = try KeyPair(bytes: buddy.ownKey)
            switch letter.kind {
            case .exchange:
                return .key(bytes: keys.publicBytes)
            case .message:
                guard let message = try context.first(.sent(operation, by: user)) else { return nil }
                guard let theirKey = buddy.theirKey else { throw NoKey(name: name) }
                let label = MessageLabel(sender: user, receiver: name, number: message.number, operation: operation)
                let sealed = try keys.seal(message.text, as: label, with: theirKey)
                return .message(sealed: sealed, number: message.number)
            }
        }
    }

    private func outcome(
        of answer: Parcel.Content,
        to letter: Letter,
        _ operation: String,
        from name: String
    ) async throws -> Outcome {
        let user = store.user
        switch (letter.kind, answer) {
        case (.message, .received(let receipt)):
            guard try await isReceipt(receipt, for: operation, from: name) else {
                return .fail("another user has answered under the name of \(name)")
            }
            return .done { context in try context.first(.sent(operation, by: user))?.isDelivered = true }
        case (.exchange, .keyReply(let key)):
            let known = try await store.stack.background { context in
                try context.first(Buddy.where { $0.name == name })?.theirKey
            }
            guard KeyPair.isPublicKey(key), known == nil || known == key else {
                return .fail("\(name) has another key than before")
            }
            return .done { context in
                let buddy = try context.buddy(name)
                buddy.hasOwnKey = buddy.take(key)
            }
        case (_, .refused(let reason)): return .fail(reason)
        default: return .fail("\(name) has sent an unexpected answer")
        }
    }

    private func isReceipt(_ receipt: Data, for operation: String, from name: String) async throws -> Bool {
        let user = store.user
        return try await store.stack.background { context in
            guard let message = try context.first(.sent(operation, by: user)),
                let buddy = message.buddy, let theirKey = buddy.theirKey
            else { return false }
            let label = MessageLabel(sender: user, receiver: name, number: message.number, operation: operation)
            let keys = try KeyPair(bytes: buddy.ownKey)
            return (try? keys.open(receipt, as: label.ofReceipt, with: theirKey)) != nil
        }
    }
}

extension Query<Message> {
    /// The message that an operation sends.
    static func sent(_ operation: String, by user: String) -> Query<Message> {
        Message.where { $0.sender == user && $0.operation == operation }
    }
}

/// The user has discarded a buddy's key, and the new key has not arrived yet.
private struct NoKey: Error, CustomStringConvertible {
    let name: String

    var description: String { "the new key of \(name) has not arrived yet" }
}
