public import Foundation

/// What a client and the server say to each other.
public enum Frame: Codable, Sendable, Hashable {
    // MARK: From a client

    /// Who it is, and whose coming and going it wants to know of. The first frame of every connection.
    case login(name: String, buddies: [String])
    /// Somebody else whose coming and going it wants to know of.
    case watch(buddy: String)
    case send(parcel: Parcel, to: String)

    // MARK: From the server

    /// The answer to `login`, with those of the buddies that are there.
    case welcome(here: [String])
    /// That a buddy has come or gone. One that has come again is told of again: what was on the way to it may be lost.
    case presence(of: String, isHere: Bool)
    case parcel(parcel: Parcel, from: String)
    /// Why the server ends the connection.
    case goodbye(reason: Goodbye)

    public enum Goodbye: String, Codable, Sendable {
        /// Somebody has logged in under the same name.
        case replaced
        /// What came could not be understood.
        case malformed
        /// There are too many connections.
        case full
    }
}

/// What one client sends to another. The server passes it on and keeps nothing of it.
public struct Parcel: Codable, Sendable, Hashable {
    /// The text of an operation's id at the client that has queued it, in the answers too. Whoever has seen it before
    /// is dealing with a repeat.
    public var operation: String
    public var content: Content

    public init(_ content: Content, operation: String) {
        self.operation = operation
        self.content = content
    }

    public enum Content: Codable, Sendable, Hashable {
        /// The sender's public key. Answered by `keyReply` when it is stored.
        case key(bytes: Data)
        /// The public key of the one who was asked.
        case keyReply(bytes: Data)
        /// A sealed message. Answered by `received` when it is stored.
        ///
        /// Numbers grow from one message of a sender to the next.
        case message(sealed: Data, number: Int)
        /// Sealed by the one who has stored the message, so that nobody else can say it.
        case received(receipt: Data)
        /// It is not taken, and would not be the next time either.
        case refused(reason: String)
    }
}
