import Foundation
import Strata
import StrataCloud

/// Where a server is: what stands before the paths of its objects.
struct Endpoint: Sendable, Hashable {
    let scheme: String
    let host: String
    let port: Int?
    /// What all paths begin with, encoded, without a slash at its end: empty or `/dav/files`.
    let basePath: String

    /// - Throws: `misconfigured` where it is no URL of a server, or has credentials in it.
    init(_ url: URL) throws {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
        else {
            throw RemoteError(.misconfigured, "The URL of a server begins with http:// or https:// and a host.")
        }
        guard parts.user == nil, parts.password == nil else {
            throw RemoteError(.misconfigured, "Credentials do not belong into the URL of a server; hand in a provider.")
        }
        guard parts.query == nil, parts.fragment == nil else {
            throw RemoteError(.misconfigured, "The URL of a server has neither a query nor a fragment.")
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

    /// Host and port as the header `Host` has them: without the port where it is the usual one.
    var authority: String {
        guard let port, port != (isSecure ? 443 : 80) else { return host }
        return "\(host):\(port)"
    }

    /// Whether it is on this very machine.
    var isLoopback: Bool {
        host == "localhost" || host == "::1" || host == "[::1]"
            || host.hasBytePrefix("127.") && host.wholeMatch(of: /[0-9.]+/) != nil
    }

    /// The same server under a name below its own.
    func subdomain(_ name: String) -> Endpoint {
        Endpoint(scheme: scheme, host: "\(name).\(host)", port: port, basePath: basePath)
    }

    var description: String { "\(scheme)://\(authority)\(basePath)" }
}
