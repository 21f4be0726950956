import Foundation
import Strata

extension ChatStore {
    /// Stores the contents of a parcel.
    ///
    /// - Returns: the answer, to be sent now that the contents are stored. Nil if the parcel is itself an answer.
    func receive(_ parcel: Parcel, from sender: String) async throws -> Parcel? {
        guard sender != user else { return nil }
        let answer: Parcel.Content
        switch parcel.content {
        case .key(let bytes): answer = try await receive(key: bytes, from: sender)
        case .message(let sealed, let number):
            answer = try await receive(sealed, number, operation: parcel.operation, from: sender)
        case .keyReply, .received, .refused: return nil
        }
        return Parcel(answer, operation: parcel.operation)
    }

    private func receive(key: Data, from sender: String) async throws -> Parcel.Content {
        guard KeyPair.isPublicKey(key) else { return .refused(reason: "the key is not valid") }
        return try await write { context in
            let buddy = try context.buddy(sender)
            guard buddy.take(key) else { return .refused(reason: "\(user) knows another key of yours") }
            return .keyReply(bytes: try KeyPair(bytes: buddy.ownKey).publicBytes)
        }
    }

    private func receive(
        _ sealed: Data,
        _ number: Int,
        operation: String,
        from sender: String
    ) async throws -> Parcel.Content {
        try await write { context in
            let label = MessageLabel(sender: sender, receiver: user, number: number, operation: operation)
            guard let buddy = try context.first(Buddy.where { $0.name == sender }), let theirKey = buddy.theirKey,
                case let keys = try KeyPair(bytes: buddy.ownKey),
                let text = try? keys.open(sealed, as: label, with: theirKey)
            else { return .refused(reason: "\(user) has no key for it") }
            let receipt = try keys.seal("", as: label.ofReceipt, with: theirKey)
            if try context.exists(Message.where { $0.sender == sender && $0.operation == operation }) {
                return .received(receipt: receipt)
            }
            // A queue sends its messages in order. So a smaller number comes from a client that does not keep the
            // order.
            guard number > buddy.newest else { return .refused(reason: "a later message has already arrived") }
            buddy.newest = number
            context.insert(
                Message(
                    place: try context.nextPlace(),
                    sender: sender,
                    operation: operation,
                    number: number,
                    text: text,
                    isDelivered: true,
                    buddy: buddy
                )
            )
            return .received(receipt: receipt)
        }
    }
}

extension Buddy {
    /// Stores a buddy's key if no key is known.
    ///
    /// - Returns: false if a different key is known. Only the user can discard that key.
    func take(_ key: Data) -> Bool {
        if theirKey == nil { theirKey = key }
        return theirKey == key
    }
}
