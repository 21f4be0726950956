import Foundation
import Strata
import StrataRemotes

/// Sends requests to a WebDAV server, and interprets its errors.
struct WebDAVService: Sendable {
    let endpoint: Endpoint
    let credentials: (any HTTPCredentialsProvider)?
    let connections: HTTPConnections

    /// The maximum size of a listing, in bytes.
    static let documentLimit = 64 << 20

    /// The encoded path of an object or folder. The path of a folder ends in a slash, because some servers require it.
    func path(_ key: RemoteKey, isFolder: Bool = false) -> String {
        let path = endpoint.basePath + key.segments.map { "/" + PercentEncoding.encode($0) }.joined()
        return isFolder || path.isEmpty ? path + "/" : path
    }

    /// The whole URL, as the `Destination` header requires it.
    func url(_ key: RemoteKey, isFolder: Bool) -> String {
        "\(endpoint.scheme)://\(endpoint.authority)\(path(key, isFolder: isFolder))"
    }

    /// Sends a request. An HTTP status never throws here.
    func send(
        _ method: String,
        _ key: RemoteKey,
        isFolder: Bool = false,
        headers: [(name: String, value: String)] = [],
        body: HTTPRequest.Body = .none
    ) async throws -> HTTPAnswer {
        try key.requireNames()
        var headers = headers
        if let credentials = try await credentials?.credentials() {
            headers.append(("authorization", credentials.header))
        }
        return try await connections.send(
            HTTPRequest(
                method: method,
                target: .init(
                    scheme: endpoint.scheme,
                    authority: endpoint.authority,
                    path: path(key, isFolder: isFolder)
                ),
                headers: headers,
                body: body,
                key: key
            )
        )
    }

    /// Whether an answer redirects to the same path with a trailing slash, at any host. Servers redirect in this way if
    /// the path is a collection.
    func isRedirectToCollection(_ answer: HTTPAnswer) -> Bool {
        guard [301, 302, 307, 308].contains(answer.status), let key = answer.key, let location = answer["location"],
            location.hasByteSuffix("/"), let names = Self.names(in: Self.path(of: location))
        else { return false }
        return names.hasSameBytes(as: Self.names(in: path(key)[...]) ?? [])
    }

    /// The advice in an error message about a redirect.
    private func advice(onRedirect answer: HTTPAnswer) -> String {
        guard let key = answer.key, let location = answer["location"] else {
            return "The server redirects without a target. Check the URL."
        }
        // The query and the fragment may contain a secret.
        let place = String(location.prefix { $0 != "?" && $0 != "#" })
        let path = path(key)
        if place.utf8.firstRange(of: "://".utf8) != nil, place.hasByteSuffix(path) || place.hasByteSuffix(path + "/") {
            let end = place.hasByteSuffix("/") && !path.hasByteSuffix("/") ? path + "/" : path
            return
                "Redirects are not followed. If you trust that server, set the URL to \(place.droppingLastBytes(end.utf8.count))\(endpoint.basePath)/."
        }
        return
            "It redirects to \(place), and redirects are not followed. If that is a login page, log in to the network "
            + "first; otherwise set the URL to the collection's final URL."
    }

    /// Converts an unsuccessful answer into an error.
    ///
    /// - Parameter writes: whether 409 means that the parent folder is missing (RFC 4918, 9.7.1, 9.3.1, 9.8.5).
    func error(_ answer: HTTPAnswer, writes: Bool = false) async -> RemoteError {
        // Only XML contains an error condition. Text and HTML bodies are not useful in a log.
        let isXML = answer["content-type"]?.contains("xml") == true
        let data = isXML ? try? await answer.data(limit: 64 * 1024) : nil
        if data == nil { await answer.discard() }
        let condition = data.flatMap { XMLNode.parse($0) }?.children.first?.name
        let retryAfter = answer.retryAfter
        var message = "\(endpoint.authority) answers \(answer.status)" + (condition.map { " (\($0))." } ?? ".")
        var code = HTTPStatus.kind(answer.status, hasRetryAfter: retryAfter != nil)
        switch answer.status {
        case 409 where writes:
            code = .parentMissing
            message += " The parent folder does not exist."
        case 423: message += " Another client has locked it."
        case 300..<400: message += " " + advice(onRedirect: answer)
        default: break
        }
        return RemoteError(code, message, key: answer.key, status: answer.status, retryAfter: retryAfter)
    }
}
