import ArgumentParser
public import Foundation
public import StrataCloud
import StrataHTTP

/// The remote that a folder is mirrored to.
public enum RemotePlace: Hashable, Sendable, CustomStringConvertible {
    case folder(URL)
    case s3(bucket: String, prefix: [String], endpoint: URL?, region: String?)
    case webDAV(URL)

    /// - Parameters:
    ///   - endpoint: the server of a bucket. By default it is AWS.
    ///   - region: the server's region.
    /// - Throws: `ValidationError`.
    init(_ text: String, endpoint: String?, region: String?) throws {
        guard let mark = text.utf8.firstRange(of: "://".utf8) else {
            self = .folder(MirrorOptions.real(URL(filePath: text)))
            try Self.refuse(endpoint, region)
            return
        }
        guard text[..<mark.lowerBound].lowercased() != "file" else {
            let path = MirrorScreen.printable(String(text[mark.upperBound...]))
            throw ValidationError("Write a folder as a path, such as \(path), and not as a URL.")
        }
        guard let url = URL(string: text), let host = url.host, !host.isEmpty else {
            throw ValidationError("\"\(MirrorScreen.printable(text))\" is not a URL.")
        }
        guard url.user == nil, url.password == nil else {
            throw ValidationError("Others can read the command line. Pass the credentials in the environment.")
        }
        switch text[..<mark.lowerBound] {
        case "s3":
            let server = try endpoint.map { text in
                guard let url = URL(string: text), url.host != nil, ["http", "https"].contains(url.scheme ?? "") else {
                    throw ValidationError("--endpoint must be a URL with http or https.")
                }
                return url
            }
            let prefix = LocalPath(url.path).names
            self = .s3(bucket: host, prefix: prefix, endpoint: server, region: region)
        case "webdav", "webdavs":
            try Self.refuse(endpoint, region)
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
            parts?.scheme = text.utf8.starts(with: "webdavs:".utf8) ? "https" : "http"
            guard let url = parts?.url else {
                throw ValidationError("\"\(MirrorScreen.printable(text))\" is not a URL.")
            }
            self = .webDAV(url)
        case let scheme:
            let name = MirrorScreen.printable(String(scheme))
            throw ValidationError("\(name):// is not one of s3://, webdav:// and webdavs://.")
        }
    }

    private static func refuse(_ endpoint: String?, _ region: String?) throws {
        guard endpoint == nil, region == nil else {
            throw ValidationError("--endpoint and --region need a remote with s3://.")
        }
    }

    public var description: String {
        switch self {
        case .folder(let url): url.path
        case .s3(let bucket, let prefix, let endpoint, _):
            "s3://\(([bucket] + prefix).joined(separator: "/"))" + (endpoint.map { " at \($0)" } ?? "")
        case .webDAV(let url): url.absoluteString
        }
    }

    /// Advice for the user if the remote rejects the credentials. Nil if the remote does not use credentials.
    public var credentialsHint: String? {
        switch self {
        case .folder: nil
        case .s3: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials."
        case .webDAV: "Set MIRROR_USER and MIRROR_PASSWORD."
        }
    }

    /// The maximum number of concurrent uploads, moves and deletes. Concurrent operations share commits of the store,
    /// and so their flushes. With a server, each of them uses a connection, so there are fewer.
    public var maxConcurrentUploads: Int { if case .folder = self { 16 } else { 8 } }

    /// Creates the remote, and the object that reports whether it can be reached.
    ///
    /// - Parameters:
    ///   - isKnown: whether the remote was mirrored before. Then a missing folder is not created again.
    ///   - authorities: a file with certificates that replace the system's trusted certificates.
    /// - Throws: ``MirrorError``, ``RemoteError``.
    public func make(
        isKnown: Bool,
        authorities: URL? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> (any Remote, Reachability?) {
        let options = HTTPOptions(certificateAuthorities: authorities)
        switch self {
        case .folder(let url):
            guard !isKnown || FileManager.default.fileExists(atPath: url.path) else {
                throw MirrorError("\(url.path) no longer exists. Is its disk mounted? To start again, create it.")
            }
            return (try FolderRemote(url), nil)
        case .s3(let bucket, let prefix, let endpoint, let region):
            let location = try S3Location(
                bucket: bucket,
                prefix: RemoteKey(prefix),
                endpoint: endpoint,
                region: region,
                environment: environment
            )
            return (try S3Remote(location, options: options), location.endpoint.host.map { Reachability(host: $0) })
        case .webDAV(let url):
            let (user, password) = (environment["MIRROR_USER"], environment["MIRROR_PASSWORD"])
            let credentials = user.map { HTTPCredentials.basic(user: $0, password: password ?? "") }
            return (
                try WebDAVRemote(url, credentials: credentials, options: options),
                url.host.map { Reachability(host: $0) }
            )
        }
    }
}
