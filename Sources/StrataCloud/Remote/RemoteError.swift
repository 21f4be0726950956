/// What a remote, or the way to it, has refused.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Further codes may come with further versions, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A code by its name; two of one name are equal.
        public init(_ description: String) { self.description = description }

        /// There is no object of this key.
        public static let notFound = Code("notFound")
        /// The object is there already, or is of another version (412; 409 of a server that resolves races so).
        public static let conditionFailed = Code("conditionFailed")
        /// The folder that it is to lie in is not there (409 of WebDAV).
        public static let parentMissing = Code("parentMissing")
        /// There is a folder where a file is to be, or a file where a folder is to be, or the target of a move is taken.
        public static let occupied = Code("occupied")
        /// A folder is to be deleted that is not empty.
        public static let notEmpty = Code("notEmpty")
        /// The server does not know who asks, or the credentials have expired (401).
        public static let unauthorized = Code("unauthorized")
        /// The server does not allow it (403).
        public static let forbidden = Code("forbidden")
        /// There is no room (413, 507).
        public static let outOfSpace = Code("outOfSpace")
        /// The server asks for a pause (429, or 503 with `Retry-After`).
        public static let throttled = Code("throttled")
        /// The server cannot do it now (5xx).
        public static let unavailable = Code("unavailable")
        /// The server cannot be reached: no route, no such name, connection refused, no answer in time. Nothing was sent.
        public static let unreachable = Code("unreachable")
        /// The connection ended before the answer: whether the request was carried out is not known.
        public static let answerLost = Code("answerLost")
        /// Another certificate than was expected, or none that is trusted.
        public static let untrusted = Code("untrusted")
        /// The answer is not what the protocol says.
        public static let malformedAnswer = Code("malformedAnswer")
        /// A listing lacks an object that it has shown before, and that the remote still has. Nothing was removed.
        public static let inconsistentListing = Code("inconsistentListing")
        /// The content is not what was asked for: too short, another version, or damaged.
        public static let damagedContent = Code("damagedContent")
        /// The bytes to be sent cannot be read, or are fewer or more than was said.
        public static let unreadableBody = Code("unreadableBody")
        /// The remote cannot have such a key: a name is too long, say.
        public static let invalidKey = Code("invalidKey")
        /// The upload in parts is not known any more; it has to begin anew.
        public static let uploadGone = Code("uploadGone")
        /// The moment from which changes are asked for is not known any more; ask for everything.
        public static let cursorGone = Code("cursorGone")
        /// The range lies outside of the object (416).
        public static let rangeNotSatisfiable = Code("rangeNotSatisfiable")
        /// The remote cannot do this at all.
        public static let unsupported = Code("unsupported")
        /// The remote was set up wrongly: credentials missing, no such bucket, a URL that is none.
        public static let misconfigured = Code("misconfigured")
        /// Something else; see the status.
        public static let refused = Code("refused")
    }

    /// The kind of error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do. Without credentials.
    public let message: String
    /// What it is about.
    public let key: RemoteKey?
    /// The status of the answer, for remotes that speak HTTP.
    public let status: Int?
    /// How long the server asks to wait.
    public let retryAfter: Duration?
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
        key: RemoteKey? = nil,
        status: Int? = nil,
        retryAfter: Duration? = nil,
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.key = key
        self.status = status
        self.retryAfter = retryAfter
        self.underlying = underlying
        self.file = file
        self.line = line
    }

    /// Code and message.
    public var description: String { "\(code): \(message)" }

    static func wrongSize(_ size: Int64, _ expected: Int64) -> RemoteError {
        RemoteError(.unreadableBody, "There are \(size) bytes, not the \(expected) that were announced.")
    }
}
