/// What went wrong with pipelines, and what to do about it.
public struct PipelineError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Further codes may come with further versions, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A code by its name; two of one name are equal.
        public init(_ description: String) { self.description = description }

        /// Operations would wait for each other; ``PipelineError/operations`` names them in the order of the ring.
        public static let dependencyCycle = Code("dependencyCycle")
        /// A pipeline or broker of this name is open on the stack already.
        public static let alreadyOpen = Code("alreadyOpen")
        /// Two brokers, or a broker and a pipeline, would take the operations of one queue.
        public static let queueClaimedTwice = Code("queueClaimedTwice")
        /// The stack was opened without ``Pipeline/models``.
        public static let modelsMissing = Code("modelsMissing")
        /// An id that was handed out beforehand has been used before.
        public static let alreadyFinished = Code("alreadyFinished")
        /// Another process holds the operation by now, or it is queued no more.
        public static let leaseLost = Code("leaseLost")
        /// The payload cannot be read, or is of another type than the pipeline handles: the operation fails for good.
        public static let undecodablePayload = Code("undecodablePayload")
        /// An operation was asked for a payload of another type than it has, by ``QueuedOperation/payload(as:)``.
        public static let wrongPayload = Code("wrongPayload")
        /// The pipeline is closed, or the stack is about to be.
        public static let closed = Code("closed")
        /// A schedule cannot be read, or never comes.
        public static let invalidSchedule = Code("invalidSchedule")
        /// A value is out of its bounds.
        public static let invalidArgument = Code("invalidArgument")
        /// The handler has run longer than the pipeline allows.
        public static let timedOut = Code("timedOut")
        /// The handler has thrown `CancellationError` by itself.
        public static let unexpectedCancellation = Code("unexpectedCancellation")
    }

    /// The kind of error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The numbers of the ids of the operations concerned.
    public let operations: [Int64]
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
        operations: [Int64] = [],
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.operations = operations
        self.underlying = underlying
        self.file = file
        self.line = line
    }

    /// Code and message.
    public var description: String { "\(code): \(message)" }

    static var withoutContext: PipelineError {
        PipelineError(.invalidArgument, "The operation belongs to no context. Queue it by `enqueue` first.")
    }
}
