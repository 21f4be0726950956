import StrataPipeline

/// The payload of an operation for a buddy. The store contains the message itself, under the operation's id.
struct Letter: OperationPayload {
    enum Kind: String, Codable { case exchange, message }

    let kind: Kind
}

extension PipelineName {
    private static let prefix = "chat."

    static func chat(with buddy: String) -> PipelineName { "\(prefix)\(buddy)" }

    var isChat: Bool { hasPrefix(Self.prefix) }

    /// The buddy that the queue is named after.
    var buddy: String { String(rawValue.dropFirst(Self.prefix.count)) }
}

extension Constraint {
    private static let prefix = "buddy."

    /// Satisfied while the client is connected to the server.
    static let server: Constraint = "server"

    /// Satisfied while a buddy is online.
    static func buddy(_ name: String) -> Constraint { Constraint(rawValue: prefix + name) }

    /// The buddy that the constraint concerns.
    var buddy: String? { rawValue.hasPrefix(Self.prefix) ? String(rawValue.dropFirst(Self.prefix.count)) : nil }
}
