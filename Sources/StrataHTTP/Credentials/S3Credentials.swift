/// The keys that sign requests to S3. Their descriptions show at most the access key.
public struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The access key, which identifies the requester. It is not a secret.
    public var accessKey: String
    /// The key that signs requests. It is never sent.
    public var secretKey: String
    /// The token that belongs to temporary credentials.
    public var sessionToken: String?

    /// Creates credentials from their parts.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// The access key, which is not a secret.
    public var description: String { "S3Credentials(\(accessKey))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Only the access key, so that `dump` does not show secrets.
    public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
