import Foundation
import Strata

/// Somebody to talk to.
@Model final class Buddy {
    @Attribute(.unique) var name: String
    /// This client's key for that buddy, with its secret half.
    var ownKey: Data
    /// The buddy's public key, as soon as it is known.
    var theirKey: Data?
    /// Whether the buddy has said that it has this client's key.
    var hasOwnKey: Bool = false
    /// The number of the newest message from that buddy, as long as it has this key.
    var newest: Int = 0
    @Relationship(deleteRule: .cascade, inverse: \Message.buddy) var messages: Many<Message>

    /// Whether messages for that buddy can be sealed, and it can open them.
    var isReady: Bool { hasOwnKey && theirKey != nil }

    static let byName = Buddy.all.sorted { $0.name }
}

/// A message from or to a buddy.
@Model(.unique("sender", "operation"))
final class Message {
    /// Where it stands on the screen: from 1, in the order in which messages have come into this store.
    @Attribute(.unique) var place: Int
    var sender: String
    /// The text of the id of the operation that sends it, at its sender.
    var operation: String
    /// Grows from one message of a sender to a receiver to the next.
    var number: Int
    var text: String
    /// Whether the receiver has it.
    var isDelivered: Bool = false
    var buddy: Buddy?

    static let byPlace = Message.all.sorted { $0.place }
}
