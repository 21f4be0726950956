/// An error of nodes, transfers or their stored state. It says what happened and what to do.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Later versions may add codes, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a code from its name. Two codes with the same name are equal.
        public init(_ description: String) { self.description = description }
    }

    /// The kind of error. Code that handles errors switches over it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The numbers of the affected nodes.
    public let nodes: [Int64]
    /// The error that caused this one, if any.
    public let underlying: (any Error)?
    /// The source file that threw the error, for reports.
    public let file: String
    /// The line in that file.
    public let line: Int

    /// Creates an error that records the location of the call.
    public init(
        _ code: Code,
        _ message: String,
        nodes: [Int64] = [],
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.nodes = nodes
        self.underlying = underlying
        self.file = file
        self.line = line
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
