/// Asks several providers in turn.
public struct S3CredentialsChain: S3CredentialsProvider {
    private let providers: [any S3CredentialsProvider]

    /// Creates a chain that asks the providers in this order.
    public init(_ providers: [any S3CredentialsProvider]) { self.providers = providers }

    /// The environment, then the default files.
    public static var standard: S3CredentialsChain {
        S3CredentialsChain([S3EnvironmentCredentials(), S3FileCredentials()])
    }

    /// Returns the first credentials that a provider supplies.
    public func credentials() async throws -> S3Credentials? {
        for provider in providers {
            if let credentials = try await provider.credentials() { return credentials }
        }
        return nil
    }
}
