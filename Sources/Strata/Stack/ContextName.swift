/// The name of a context, taken at most once per stack. It is not empty. Names are compared by the bytes of their UTF-8.
///
///     extension ContextName { static let network: ContextName = "network" }
public struct ContextName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as text.
    public let rawValue: String

    /// A name with this text.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// A name with the text of the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Whether two names have the same bytes.
    public static func == (left: ContextName, right: ContextName) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// The name as text.
    public var description: String { rawValue }

    /// The name of the main context, which bears it by itself.
    public static let main: ContextName = "main"

    /// The name of the root context, which bears it by itself.
    public static let root: ContextName = "root"
}
