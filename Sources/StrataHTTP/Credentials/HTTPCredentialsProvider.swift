/// Where credentials of a server come from. They are asked for at each request, so that they may change.
public protocol HTTPCredentialsProvider: Sendable {
    /// The credentials as of now; nil for none.
    func credentials() async throws -> HTTPCredentials?
}

extension HTTPCredentials: HTTPCredentialsProvider {
    /// These, always.
    public func credentials() async throws -> HTTPCredentials? { self }
}
