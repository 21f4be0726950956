/// A source of S3 credentials. Every request asks it again, so the credentials may change.
public protocol S3CredentialsProvider: Sendable {
    /// Returns the current credentials. Nil means that this source has none and another provider may be asked.
    ///
    /// - Throws: `RemoteError` with `misconfigured` if credentials exist but are malformed.
    func credentials() async throws -> S3Credentials?
}

extension S3Credentials: S3CredentialsProvider {
    /// Returns these credentials.
    public func credentials() async throws -> S3Credentials? { self }
}
