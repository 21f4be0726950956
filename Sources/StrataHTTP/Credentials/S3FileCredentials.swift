public import Foundation
import StrataCloud

/// Credentials in the files that the tools of AWS share, read at each request: `~/.aws/credentials` and `~/.aws/config`, or where
/// `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` say. Only keys that stand there, no roles and no programs that are to be run.
public struct S3FileCredentials: S3CredentialsProvider {
    private let profile: String?
    private let environment: [String: String]

    /// Those of a profile.
    ///
    /// - Parameter profile: by default what `AWS_PROFILE` says, else `default`.
    public init(profile: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.profile = profile
        self.environment = environment
    }

    /// What the files say; nil where there is no such profile, or no key in it.
    ///
    /// - Throws: ``RemoteError`` with `misconfigured` where there is only one of the two keys.
    public func credentials() async throws -> S3Credentials? {
        let profile = S3Profile(profile, environment: environment)
        switch (profile["aws_access_key_id"], profile["aws_secret_access_key"]) {
        case (nil, nil): return nil
        case (let accessKey?, let secretKey?):
            return S3Credentials(accessKey: accessKey, secretKey: secretKey, sessionToken: profile["aws_session_token"])
        default:
            throw RemoteError(.misconfigured, "A profile needs both aws_access_key_id and aws_secret_access_key.")
        }
    }
}
