public import Foundation

/// A message between a client and the server.
public enum Frame: Codable, Sendable, Hashable {
    // MARK: From a client

    /// The client's name, and the buddies whose presence it watches. The first frame of every connection.
    case login(name: String, buddies: [String])
    /// Another buddy whose presence the client watches.
    case watch(buddy: String)
    case send(parcel: Parcel, to: String)

    // MARK: From the server

    /// The answer to `login`, with the watched buddies that are online.
    case welcome(here: [String])
    /// A buddy has come online or gone offline. Also sent when a buddy reconnects, because parcels to its earlier
    /// connection may be lost.
    case presence(of: String, isHere: Bool)
    case parcel(parcel: Parcel, from: String)
    /// The reason why the server ends the connection.
    case goodbye(reason: Goodbye)

    public enum Goodbye: String, Codable, Sendable {
        /// Another client has logged in under the same name.
        case replaced
        /// The client sent a malformed frame.
        case malformed
        /// There are too many connections.
        case full
    }
}

/// A message from one client to another. The server forwards it and does not store it.
public struct Parcel: Codable, Sendable, Hashable {
    /// The text of the operation's id at the client that queued it, also in answers. A receiver that knows this id
    /// recognises a repeat.
    public var operation: String
    public var content: Content

    public init(_ content: Content, operation: String) {
        self.operation = operation
        self.content = content
    }

    public enum Content: Codable, Sendable, Hashable {
        /// The sender's public key. Answered by `keyReply` once it is stored.
        case key(bytes: Data)
        /// The public key of the client that answers.
        case keyReply(bytes: Data)
        /// A sealed message. Answered by `received` once it is stored.
        ///
        /// Numbers increase from one message of a sender to the next.
        case message(sealed: Data, number: Int)
        /// Sealed by the client that has stored the message, so that another client cannot forge the receipt.
        case received(receipt: Data)
        /// The receiver rejects the parcel, and would reject it again.
        case refused(reason: String)
    }
}
