/// What went wrong with nodes, transfers and what is kept of them, and what to do about it.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Further codes may come with further versions, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A code by its name; two of one name are equal.
        public init(_ description: String) { self.description = description }
    }

    /// The kind of error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The numbers of the nodes concerned.
    public let nodes: [Int64]
    /// The error that caused this, if there is one.
    public let underlying: (any Error)?
    /// Where it was thrown, for reports.
    public let file: String
    /// The line of that file.
    public let line: Int

    /// An error that says where it was made.
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

    /// Code and message.
    public var description: String { "\(code): \(message)" }
}
