import Foundation
import StrataCloud
import StrataHTTP

/// Remotes at a server whose answers a test scripts.
enum ScriptedRemote {
    static let secret = "v3ry-s3cret"

    static func s3(
        _ port: Int,
        scheme: String = "http",
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = RemoteCapabilities(hasFolders: false, sharesKeysWithFolders: true),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws -> S3Remote {
        try S3Remote(
            S3Location(bucket: "bucket", endpoint: Loopback.url(port, scheme: scheme), environment: [:]),
            credentials: S3Credentials(accessKey: "access", secretKey: secret, sessionToken: secret),
            options: options,
            capabilities: capabilities,
            now: now
        )
    }

    static func dav(
        _ port: Int,
        path: String = "dav",
        options: HTTPOptions = HTTPOptions(),
        capabilities: RemoteCapabilities? = RemoteCapabilities()
    ) throws -> WebDAVRemote {
        try WebDAVRemote(
            Loopback.url(port).appending(path: path),
            credentials: HTTPCredentials.basic(user: "me", password: secret),
            options: options,
            capabilities: capabilities
        )
    }
}

/// The `RemoteError` that the body throws, or nil if it throws another error or none.
func failure(_ body: () async throws -> some Any) async -> RemoteError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? RemoteError
    }
}
