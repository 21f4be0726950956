/// Where credentials of S3 come from. They are asked for at each request, so that they may change.
public protocol S3CredentialsProvider: Sendable {
    /// The credentials as of now; nil where there are none here, and others may be asked.
    ///
    /// - Throws: ``RemoteError`` with `misconfigured` where what is there cannot be understood.
    func credentials() async throws -> S3Credentials?
}

extension S3Credentials: S3CredentialsProvider {
    /// These, always.
    public func credentials() async throws -> S3Credentials? { self }
}
