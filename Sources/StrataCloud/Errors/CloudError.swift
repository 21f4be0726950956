import Strata

/// An error of nodes, transfers or their stored state, with a description of the failure and advice on what to do.
public struct CloudError: Error, Sendable, CustomStringConvertible, ProductError {
    /// The kind of an error. Later versions may add codes, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a code from its name. Two codes with the same name are equal.
        public init(_ description: String) { self.description = description }
    }

    /// The kind of the error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The raw values of the affected nodes' ids.
    public let nodes: [Int64]
    /// The error that caused this error, if there is one.
    public let underlying: (any Error)?
    /// The source file that created the error, for reports.
    public let file: String
    /// The line of that file.
    public let line: Int

    /// Creates an error that records its source location.
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

    /// The code and the message, then one line for each of the first ten affected nodes, the number of the remaining
    /// ones, and the cause. What the message already contains is left out.
    public var description: String { fullText }

    package var details: [String] { nodes.map { "node \($0)" } }
}
