public import Foundation
import StrataRemotes

/// Credentials from the shared AWS files, read at each request.
///
/// The files are `~/.aws/credentials` and `~/.aws/config`, or the paths in `AWS_SHARED_CREDENTIALS_FILE` and
/// `AWS_CONFIG_FILE`. Only keys written in the files are used. Roles and credential programs are not supported.
public struct S3FileCredentials: S3CredentialsProvider {
    private let profile: String?
    private let environment: [String: String]

    /// Reads the credentials of one profile.
    ///
    /// - Parameters:
    ///   - profile: by default the value of `AWS_PROFILE`, otherwise `default`.
    ///   - environment: the environment variables to read.
    public init(profile: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.profile = profile
        self.environment = environment
    }

    /// Returns the profile's credentials. Nil if the profile does not exist or contains no keys.
    ///
    /// - Throws: `RemoteError` with `misconfigured` if only one of the two keys exists.
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
