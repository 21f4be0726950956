public import Foundation
import Strata
public import StrataCloud

/// Where in which server objects are kept: a bucket, and what all keys in it begin with.
public struct S3Location: Sendable, Hashable {
    /// Where the name of the bucket stands in a URL.
    public enum Addressing: Sendable, Hashable {
        /// In the path: `https://server/bucket/key`. Every server takes it, AWS for the time being.
        case path
        /// In front of the host: `https://bucket.server/key`, which wants certificates and names to match.
        case virtualHost
    }

    /// The name of the bucket, which must be there.
    public var bucket: String
    /// The key below which everything lies; the root for the whole bucket.
    public var prefix: RemoteKey
    /// The region that requests are signed for.
    public var region: String
    /// The URL of the server, without the bucket.
    public var endpoint: URL
    /// Where the bucket stands in URLs.
    public var addressing: Addressing

    /// A place in a server.
    ///
    /// - Parameters:
    ///   - endpoint: by default what `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` says, then the profile's `endpoint_url`, else that of AWS in the
    ///     region.
    ///   - region: by default what `AWS_REGION`, `AWS_DEFAULT_REGION` or the profile says, else `us-east-1`.
    ///   - addressing: by default by host at AWS, where the bucket has no dot in it, and by path elsewhere.
    ///   - environment: where these variables are looked for.
    /// - Throws: ``RemoteError`` with `misconfigured` for a bucket that cannot be one, and a URL that is none of a server.
    public init(
        bucket: String,
        prefix: RemoteKey = .root,
        endpoint: URL? = nil,
        region: String? = nil,
        addressing: Addressing? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        // Names of AWS have 3 to 63; older ones, and those of other servers, up to 255 and capitals too.
        guard (1...255).contains(bucket.utf8.count), bucket.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]*/) != nil else {
            throw RemoteError(.misconfigured, "'\(bucket)' is no name of a bucket.")
        }
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let profile = S3Profile(nil, environment: environment)
        let region =
            region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? profile["region"] ?? "us-east-1"
        guard region.wholeMatch(of: /[A-Za-z0-9-]+/) != nil else {
            throw RemoteError(.misconfigured, "'\(region)' is no name of a region.")
        }
        let custom = variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? profile["endpoint_url"]
        guard let url = endpoint ?? URL(string: custom ?? "https://s3.\(region).amazonaws.com") else {
            throw RemoteError(.misconfigured, "The URL of the endpoint is none.")
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

    /// What tells the place from others: at AWS nobody else has a bucket of this name, elsewhere another server may.
    var name: String {
        let name = "s3://\(bucket)/\(prefix.path)"
        guard !Self.isAmazon(endpoint), let server = try? Endpoint(endpoint) else { return name }
        return "\(name) at \(server.scheme)://\(server.authority)"
    }
}
