public import Foundation

/// Credentials in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
public struct S3EnvironmentCredentials: S3CredentialsProvider {
    private let environment: [String: String]

    /// Those of this process's environment, unless others are given.
    public init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// What is in the environment; nil where one of the two keys is not.
    public func credentials() async throws -> S3Credentials? {
        guard let accessKey = environment["AWS_ACCESS_KEY_ID"], !accessKey.isEmpty,
            let secretKey = environment["AWS_SECRET_ACCESS_KEY"], !secretKey.isEmpty
        else { return nil }
        let token = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        return S3Credentials(accessKey: accessKey, secretKey: secretKey, sessionToken: token)
    }
}
