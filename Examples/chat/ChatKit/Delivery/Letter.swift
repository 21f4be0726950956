import StrataPipeline

/// What is queued for a buddy. A message itself is in the store, under the id of its operation.
struct Letter: OperationPayload {
    enum Kind: String, Codable { case exchange, message }

    let kind: Kind
}

extension PipelineName {
    private static let prefix = "chat."

    static func chat(with buddy: String) -> PipelineName { "\(prefix)\(buddy)" }

    var isChat: Bool { hasPrefix(Self.prefix) }

    /// After whom the queue is named.
    var buddy: String { String(rawValue.dropFirst(Self.prefix.count)) }
}

extension Constraint {
    private static let prefix = "buddy."

    /// That there is a connection to the server.
    static let server: Constraint = "server"

    /// That a buddy is there.
    static func buddy(_ name: String) -> Constraint { Constraint(rawValue: prefix + name) }

    /// The buddy that is waited for.
    var buddy: String? { rawValue.hasPrefix(Self.prefix) ? String(rawValue.dropFirst(Self.prefix.count)) : nil }
}
