import Foundation
import Strata
import StrataRemotes

/// The address of a server: scheme, host, port, and the path prefix of all its objects.
struct Endpoint: Sendable, Hashable {
    let scheme: String
    let host: String
    let port: Int?
    /// The percent-encoded prefix of all paths, without a trailing slash: empty, or for example `/dav/files`.
    let basePath: String

    /// - Throws: `misconfigured` if the URL does not name a server, or if it contains credentials, a query or a
    ///   fragment.
    init(_ url: URL) throws {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
        else {
            throw RemoteError(.misconfigured, "The URL of a server begins with http:// or https:// and a host.")
        }
        guard parts.user == nil, parts.password == nil else {
            throw RemoteError(
                .misconfigured,
                "Credentials must not be part of the URL of a server. Pass a credentials provider."
            )
        }
        guard parts.query == nil, parts.fragment == nil else {
            throw RemoteError(.misconfigured, "The URL of a server must not have a query or a fragment.")
        }
        var path = parts.percentEncodedPath
        while path.hasByteSuffix("/") { path = path.droppingLastBytes(1) }
        self.init(scheme: scheme, host: host, port: parts.port, basePath: path)
    }

    init(scheme: String, host: String, port: Int?, basePath: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.basePath = basePath
    }

    var isSecure: Bool { scheme == "https" }

    /// Host and port in the form of the `Host` header, which omits the scheme's default port.
    var authority: String {
        guard let port, port != (isSecure ? 443 : 80) else { return host }
        return "\(host):\(port)"
    }

    /// Whether the server runs on this machine.
    var isLoopback: Bool {
        host == "localhost" || host == "::1" || host == "[::1]"
            || host.hasBytePrefix("127.") && host.wholeMatch(of: /[0-9.]+/) != nil
    }

    /// The same server under a subdomain of its host name.
    func subdomain(_ name: String) -> Endpoint {
        Endpoint(scheme: scheme, host: "\(name).\(host)", port: port, basePath: basePath)
    }

    var description: String { "\(scheme)://\(authority)\(basePath)" }
}
