import Strata

/// An error of a remote or of the connection to it, with a description of the failure and advice on what to do.
public struct RemoteError: Error, Sendable, CustomStringConvertible, ProductError {
    /// The kind of an error. Later versions may add codes, so keep a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Creates a code from its name. Two codes with the same name are equal.
        public init(_ description: String) { self.description = description }

        /// No object has this key.
        public static let notFound = Code("notFound")
        /// The object exists already, or has another version (412; or 409 from a server that resolves races this way).
        public static let conditionFailed = Code("conditionFailed")
        /// The parent folder does not exist (409 of WebDAV).
        public static let parentMissing = Code("parentMissing")
        /// A folder is in place of the file, or a file is in place of the folder, or the target of a move is taken.
        public static let occupied = Code("occupied")
        /// The folder to delete is not empty.
        public static let notEmpty = Code("notEmpty")
        /// The server does not recognize the credentials, or they have expired (401).
        public static let unauthorized = Code("unauthorized")
        /// The server does not allow the request (403).
        public static let forbidden = Code("forbidden")
        /// The server does not have enough space (413, 507).
        public static let outOfSpace = Code("outOfSpace")
        /// The server asks for a pause (429, or 503 with `Retry-After`).
        public static let throttled = Code("throttled")
        /// The server cannot handle the request now (5xx).
        public static let unavailable = Code("unavailable")
        /// The server cannot be reached: no route, unknown host name, connection refused, no answer in time.
        ///
        /// Nothing was sent.
        public static let unreachable = Code("unreachable")
        /// The connection ended before the answer. Whether the server has executed the request is unknown.
        public static let answerLost = Code("answerLost")
        /// The certificate is not the expected one, or is not trusted.
        public static let untrusted = Code("untrusted")
        /// The answer violates the protocol.
        public static let malformedAnswer = Code("malformedAnswer")
        /// A listing lacks an object that it has shown before, and that the remote still has. Nothing was removed.
        public static let inconsistentListing = Code("inconsistentListing")
        /// The content is not the requested content: too short, of another version, or damaged.
        public static let damagedContent = Code("damagedContent")
        /// The bytes to upload cannot be read, or are fewer or more than announced.
        public static let unreadableBody = Code("unreadableBody")
        /// The remote cannot store this key, for example because a name is too long.
        public static let invalidKey = Code("invalidKey")
        /// The remote does not know the upload in parts any more. The upload must start again.
        public static let uploadGone = Code("uploadGone")
        /// The range lies outside of the object (416).
        public static let rangeNotSatisfiable = Code("rangeNotSatisfiable")
        /// The remote does not support this request.
        public static let unsupported = Code("unsupported")
        /// The remote is configured wrongly: missing credentials, unknown bucket, invalid URL.
        public static let misconfigured = Code("misconfigured")
        /// Another refusal; see the status.
        public static let refused = Code("refused")
    }

    /// The kind of the error, for code that decides by it.
    public let code: Code
    /// One or two sentences: what happened, and what to do. The message does not contain credentials.
    public let message: String
    /// The key of the object or folder.
    public let key: RemoteKey?
    /// The HTTP status of the answer, for remotes that speak HTTP.
    public let status: Int?
    /// The pause that the server asks for.
    public let retryAfter: Duration?
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

    /// The code and the message, then the key and the cause. What the message already contains is left out.
    public var description: String { fullText }

    package var details: [RemoteKey] { key.map { [$0] } ?? [] }

    static func wrongSize(_ size: Int64, _ expected: Int64) -> RemoteError {
        RemoteError(.unreadableBody, "The body has \(size) bytes, not the announced \(expected).")
    }
}
