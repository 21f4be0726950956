import Foundation
import Strata

/// A person to chat with.
@Model final class Buddy {
    @Attribute(.unique) var name: String
    /// This client's key pair for the buddy, including the private key.
    var ownKey: Data
    /// The buddy's public key, once it is known.
    var theirKey: Data?
    /// Whether the buddy has acknowledged this client's key.
    var hasOwnKey: Bool = false
    /// The number of the newest message from the buddy under its current key.
    var newest: Int = 0
    @Relationship(deleteRule: .cascade, inverse: \Message.buddy) var messages: Many<Message>

    /// Whether messages for the buddy can be sealed, and the buddy can open them.
    var isReady: Bool { hasOwnKey && theirKey != nil }

    static let byName = Buddy.all.sorted { $0.name }
}

/// A message from or to a buddy.
@Model(.unique("sender", "operation"))
final class Message {
    /// The position on the screen, from 1, in the order in which messages entered this store.
    @Attribute(.unique) var place: Int
    var sender: String
    /// The text of the id of the sender's operation.
    var operation: String
    /// Increases with each message from a sender to a receiver.
    var number: Int
    var text: String
    /// Whether the receiver has the message.
    var isDelivered: Bool = false
    var buddy: Buddy?

    static let byPlace = Message.all.sorted { $0.place }
}
