/// The name of a context, used at most once per stack. A name is not empty. Names are compared by their UTF-8 bytes.
///
///     extension ContextName { static let network: ContextName = "network" }
public struct ContextName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as text.
    public let rawValue: String

    /// Creates a name with this text.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a name with the text of the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Whether two names have the same bytes.
    public static func == (left: ContextName, right: ContextName) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// Hashes the bytes, consistent with `==`.
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// The name as text.
    public var description: String { rawValue }

    /// The fixed name of the main context.
    public static let main: ContextName = "main"

    /// The fixed name of the root context.
    public static let root: ContextName = "root"

    /// The name, or the number of an unnamed context, for logs.
    static func label(_ name: ContextName?, _ id: Int) -> String { name?.rawValue ?? "unnamed-\(id)" }
}
