import Foundation

/// What a server is told of who asks. Descriptions show the kind and the user at most.
public struct HTTPCredentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value of the header `Authorization`.
    let header: String
    /// Without secrets.
    public let description: String

    private init(header: String, description: String) {
        self.header = header
        self.description = description
    }

    /// A user and a password (RFC 7617). Without TLS everybody on the way reads both.
    public static func basic(user: String, password: String) -> HTTPCredentials {
        let text = Data("\(user):\(password)".utf8).base64EncodedString()
        return HTTPCredentials(header: "Basic \(text)", description: "HTTPCredentials(basic, \(user))")
    }

    /// A token (RFC 6750).
    public static func bearer(_ token: String) -> HTTPCredentials {
        HTTPCredentials(header: "Bearer \(token)", description: "HTTPCredentials(bearer)")
    }

    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Nothing, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
