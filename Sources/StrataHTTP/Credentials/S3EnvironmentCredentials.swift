public import Foundation

/// Credentials from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
public struct S3EnvironmentCredentials: S3CredentialsProvider {
    private let environment: [String: String]

    /// Reads this process's environment, unless another one is given.
    public init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// Returns the credentials of the environment. Nil if one of the two keys is missing.
    public func credentials() async throws -> S3Credentials? {
        guard let accessKey = environment["AWS_ACCESS_KEY_ID"], !accessKey.isEmpty,
            let secretKey = environment["AWS_SECRET_ACCESS_KEY"], !secretKey.isEmpty
        else { return nil }
        let token = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        return S3Credentials(accessKey: accessKey, secretKey: secretKey, sessionToken: token)
    }
}
