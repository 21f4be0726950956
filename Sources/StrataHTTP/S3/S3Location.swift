public import Foundation
import Strata
public import StrataRemotes

/// A location in an S3 server: a bucket, and a prefix of all keys in it.
public struct S3Location: Sendable, Hashable {
    /// The position of the bucket's name in URLs.
    public enum Addressing: Sendable, Hashable {
        /// In the path: `https://server/bucket/key`. Every server supports this form; AWS supports it for the time
        /// being.
        case path
        /// In front of the host: `https://bucket.server/key`. The server's certificate and DNS must cover that name.
        case virtualHost
    }

    /// The name of the bucket, which must exist.
    public var bucket: String
    /// The key that contains all objects of the remote. The root means the whole bucket.
    public var prefix: RemoteKey
    /// The region that requests are signed for.
    public var region: String
    /// The URL of the server, without the bucket.
    public var endpoint: URL
    /// The position of the bucket's name in URLs.
    public var addressing: Addressing

    /// Creates a location in a server.
    ///
    /// - Parameters:
    ///   - bucket: the name of the bucket.
    ///   - prefix: the prefix of all keys; by default none.
    ///   - endpoint: by default the value of `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, then the profile's
    ///     `endpoint_url`, otherwise the AWS endpoint of the region.
    ///   - region: by default the value of `AWS_REGION` or `AWS_DEFAULT_REGION`, then the profile's region, otherwise
    ///     `us-east-1`.
    ///   - addressing: by default ``Addressing/virtualHost`` at AWS if the bucket's name has no dot, otherwise
    ///     ``Addressing/path``.
    ///   - environment: the environment variables to read.
    /// - Throws: `RemoteError` with `misconfigured` if the name of the bucket or of the region is invalid, or if the
    ///   URL does not name a server.
    public init(
        bucket: String,
        prefix: RemoteKey = .root,
        endpoint: URL? = nil,
        region: String? = nil,
        addressing: Addressing? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        // AWS allows 3 to 63 characters. Older AWS buckets and other servers allow up to 255, and capital letters too.
        guard (1...255).contains(bucket.utf8.count), bucket.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]*/) != nil else {
            throw RemoteError(.misconfigured, "'\(bucket)' is not a valid bucket name.")
        }
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let profile = S3Profile(nil, environment: environment)
        let region =
            region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? profile["region"] ?? "us-east-1"
        guard region.wholeMatch(of: /[A-Za-z0-9-]+/) != nil else {
            throw RemoteError(.misconfigured, "'\(region)' is not a valid region name.")
        }
        let custom = variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? profile["endpoint_url"]
        guard let url = endpoint ?? URL(string: custom ?? "https://s3.\(region).amazonaws.com") else {
            throw RemoteError(.misconfigured, "The URL of the endpoint is not valid.")
        }
        let isAmazon = Self.isAmazon(url)
        _ = try Endpoint(url)
        self.bucket = bucket
        self.prefix = prefix
        self.region = region
        self.endpoint = url
        self.addressing = addressing ?? (isAmazon && !bucket.containsByte(of: ".") ? .virtualHost : .path)
    }

    private static func isAmazon(_ url: URL) -> Bool { url.host()?.hasByteSuffix(".amazonaws.com") == true }

    /// The location's unique name. AWS has one bucket of each name; elsewhere the server's address is part of the name.
    var name: String {
        let name = "s3://\(bucket)/\(prefix.path)"
        guard !Self.isAmazon(endpoint), let server = try? Endpoint(endpoint) else { return name }
        return "\(name) at \(server.scheme)://\(server.authority)"
    }
}
