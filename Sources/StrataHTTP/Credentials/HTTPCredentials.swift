import Foundation

/// The credentials of a request to a server. Their descriptions show at most the kind and the user.
public struct HTTPCredentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value of the `Authorization` header.
    let header: String
    /// The kind and the user, without secrets.
    public let description: String

    private init(header: String, description: String) {
        self.header = header
        self.description = description
    }

    /// A user name and a password (RFC 7617). Without TLS, every intermediary can read both.
    public static func basic(user: String, password: String) -> HTTPCredentials {
        let text = Data("\(user):\(password)".utf8).base64EncodedString()
        return HTTPCredentials(header: "Basic \(text)", description: "HTTPCredentials(basic, \(user))")
    }

    /// A bearer token (RFC 6750).
    public static func bearer(_ token: String) -> HTTPCredentials {
        HTTPCredentials(header: "Bearer \(token)", description: "HTTPCredentials(bearer)")
    }

    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
