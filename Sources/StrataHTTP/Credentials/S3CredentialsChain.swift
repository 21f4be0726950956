/// Asks one provider after the other.
public struct S3CredentialsChain: S3CredentialsProvider {
    private let providers: [any S3CredentialsProvider]

    /// Asks these, in this order.
    public init(_ providers: [any S3CredentialsProvider]) { self.providers = providers }

    /// The environment, and then the usual files.
    public static var standard: S3CredentialsChain {
        S3CredentialsChain([S3EnvironmentCredentials(), S3FileCredentials()])
    }

    /// The first that one of them has.
    public func credentials() async throws -> S3Credentials? {
        for provider in providers {
            if let credentials = try await provider.credentials() { return credentials }
        }
        return nil
    }
}
