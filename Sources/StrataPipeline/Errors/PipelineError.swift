import Strata

/// An error of pipelines, with a description of the failure and advice on what to do.
public struct PipelineError: Error, Sendable, CustomStringConvertible, ProductError {
    /// The kind of an error. Later versions may add codes, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a code from its name. Two codes with the same name are equal.
        public init(_ description: String) { self.description = description }

        /// Operations would wait for each other. ``PipelineError/operations`` lists them in the order of the cycle.
        public static let dependencyCycle = Code("dependencyCycle")
        /// A pipeline or broker of this name is already open on the stack.
        public static let alreadyOpen = Code("alreadyOpen")
        /// Two brokers, or a broker and a pipeline, would take the operations of one queue.
        public static let queueClaimedTwice = Code("queueClaimedTwice")
        /// The stack was opened without ``Pipeline/models``.
        public static let modelsMissing = Code("modelsMissing")
        /// An id that was allocated in advance has already been used by another operation.
        public static let alreadyFinished = Code("alreadyFinished")
        /// Another process holds the operation now, or the operation is no longer queued.
        public static let leaseLost = Code("leaseLost")
        /// The payload cannot be read, or the pipeline has one handler, which takes another type. The operation fails
        /// permanently.
        public static let undecodablePayload = Code("undecodablePayload")
        /// ``QueuedOperation/payload(as:)`` was called with a type that is not the payload's type.
        public static let wrongPayload = Code("wrongPayload")
        /// The pipeline is closed, or the stack is being closed.
        public static let closed = Code("closed")
        /// A schedule cannot be read, or never comes.
        public static let invalidSchedule = Code("invalidSchedule")
        /// No process has used a pipeline of this name.
        public static let unknownPipeline = Code("unknownPipeline")
        /// The store has no schedule of this name.
        public static let unknownSchedule = Code("unknownSchedule")
        /// A value is out of its bounds.
        public static let invalidArgument = Code("invalidArgument")
        /// The handler has run longer than the pipeline allows.
        public static let timedOut = Code("timedOut")
        /// The handler has thrown `CancellationError`, although its task was not cancelled.
        public static let unexpectedCancellation = Code("unexpectedCancellation")
        /// The result of an operation has more bytes than ``Outcome/maximumResultSize``.
        public static let resultTooLarge = Code("resultTooLarge")
        /// The awaited operation has failed permanently. The message contains its last error.
        public static let operationFailed = Code("operationFailed")
        /// The awaited operation was skipped.
        public static let operationSkipped = Code("operationSkipped")
        /// The awaited operation has failed, and its pipeline discards failed operations.
        public static let operationDiscarded = Code("operationDiscarded")
        /// The awaited operation has expired before it started.
        public static let operationExpired = Code("operationExpired")
        /// The awaited operation has not ended before the deadline of the wait.
        public static let deadlineExceeded = Code("deadlineExceeded")
        /// The awaited operation has no result, or its record is no longer kept.
        public static let noResult = Code("noResult")
        /// The result cannot be decoded as the requested type.
        public static let undecodableResult = Code("undecodableResult")
    }

    /// The kind of the error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do.
    public let message: String
    /// The raw values of the affected operations' ids.
    public let operations: [Int64]
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

    /// The code and the message, then one line for each of the first ten affected operations, the number of the
    /// remaining ones, and the cause. What the message already contains is left out.
    public var description: String { fullText }

    package var details: [String] { operations.map { "operation \($0)" } }
}
