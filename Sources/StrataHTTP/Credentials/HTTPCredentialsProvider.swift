/// A source of credentials for a server. Every request asks it again, so the credentials may change.
public protocol HTTPCredentialsProvider: Sendable {
    /// Returns the current credentials, or nil for an unauthenticated request.
    func credentials() async throws -> HTTPCredentials?
}

extension HTTPCredentials: HTTPCredentialsProvider {
    /// Returns these credentials.
    public func credentials() async throws -> HTTPCredentials? { self }
}
