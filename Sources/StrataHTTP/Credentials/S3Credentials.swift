/// What a request to S3 is signed with. Its descriptions show the access key at most.
public struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Who asks. No secret.
    public var accessKey: String
    /// What requests are signed with. It is never sent.
    public var secretKey: String
    /// What comes with credentials that end after some time.
    public var sessionToken: String?

    /// Credentials by their parts.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// The access key, which is no secret.
    public var description: String { "S3Credentials(\(accessKey))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No more than ``description``, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
