import Foundation
import Hummingbird
import Strata

/// Decides whether a request may use the console, and whether a form comes from one of its pages.
struct ConsoleAccess: Sendable {
    /// The token; nil if the console itself does not authenticate.
    private let token: String?
    private let allowedHosts: [String]?
    /// The value of the cookie. It is not the token, so that a stolen cookie ends with the process.
    private let session = SecretText.random()
    private let cookieName = "strata-console-" + SecretText.random(byteCount: 4)
    /// The secret in each form. Another site cannot read it.
    let formToken = SecretText.random()

    init(_ options: ConsoleOptions) {
        if case .token(let token) = options.authentication { self.token = token } else { token = nil }
        allowedHosts = options.allowedHosts?.map { $0.lowercased() }
    }

    /// Whether the host of the address is one of the console's. A site that lets its name lead to this machine (DNS
    /// rebinding) has another host.
    func allowsHost(of request: Request) -> Bool {
        guard let allowedHosts else { return true }
        guard let authority = request.head.authority else { return false }
        return allowedHosts.containsBytes(of: Self.host(of: authority))
    }

    /// The host without its port, in lower case.
    private static func host(of authority: String) -> String {
        let text = authority.lowercased()
        if text.hasBytePrefix("[") { return (text.splitAtFirst("]")?.before ?? text) + "]" }
        return text.splitAtFirst(":")?.before ?? text
    }

    /// Whether persons enter a token.
    var hasToken: Bool { token != nil }

    func isAuthenticated(_ request: Request) -> Bool {
        guard token != nil else { return true }
        guard let value = request.cookies[cookieName]?.value else { return false }
        return SecretText.isEqual(value, to: session)
    }

    func accepts(token given: String) -> Bool {
        guard let token else { return false }
        return SecretText.isEqual(given, to: token)
    }

    /// The cookie for a person who has entered the token.
    ///
    /// Without a path, the browser sends the cookie to the addresses beside and below that of the request. The console
    /// does not know its whole path, of which a proxy may remove a part. So the request must be to a page directly below
    /// the root.
    func cookie(for request: Request) -> Cookie {
        // If a proxy adds TLS, only the browser and the proxy know the scheme.
        let proxy = request.headers[HeaderNames.forwardedProto] ?? ""
        let origin = request.headers[.origin] ?? ""
        let isEncrypted = proxy.lowercased().hasSameBytes(as: "https") || origin.hasBytePrefix("https://")
        return Cookie(
            name: cookieName,
            value: session,
            secure: isEncrypted,
            httpOnly: true,
            sameSite: .strict
        )
    }

    /// Whether the browser says that a request comes from a page of the same address. Programs other than browsers say
    /// nothing, and no other site can use them.
    func isSameOrigin(_ request: Request) -> Bool {
        if let site = request.headers[HeaderNames.secFetchSite] { return site.hasSameBytes(as: "same-origin") }
        guard let origin = request.headers[.origin] else { return true }
        guard let authority = request.head.authority else { return false }
        let lowered = origin.lowercased()
        return lowered.hasSameBytes(as: "http://" + authority.lowercased())
            || lowered.hasSameBytes(as: "https://" + authority.lowercased())
    }
}

/// Names of header fields that the library of types does not have.
enum HeaderNames {
    typealias Name = HTTPFields.Element.Name

    static let secFetchSite = name("Sec-Fetch-Site")
    static let referrerPolicy = name("Referrer-Policy")
    static let forwardedProto = name("X-Forwarded-Proto")
    static let accelBuffering = name("X-Accel-Buffering")

    private static func name(_ text: String) -> Name {
        guard let name = Name(text) else { preconditionFailure("\(text) is not a name of a header field.") }
        return name
    }
}
