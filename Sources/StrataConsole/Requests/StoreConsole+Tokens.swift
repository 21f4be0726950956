import Foundation
import Hummingbird
import Logging
import Strata

/// The token that a person enters, or that is in the printed address.
extension StoreConsole {
    /// Accepts the token in the address that `strata serve` prints, or asks for it.
    func authenticate(
        _ request: Request,
        _ target: ConsoleRoute.Target,
        _ query: ConsoleFields,
        _ base: String
    ) -> Response {
        let next = NextPage.following(target, query)
        if let token = query.text("token"), access.accepts(token: token) {
            // The cookie is for the addresses below that of the answer: see `ConsoleAccess.cookie(for:)`.
            guard base.hasSameBytes(as: "./") else {
                let address = ConsoleLink.path("", ["token": token, "next": next])
                return .redirect(to: base + (address ?? ConsoleLink.path("", ["token": token]) ?? ""))
            }
            // The browser forgets the address with the token.
            return welcome(request, to: base + next)
        }
        let hasFailed = query.text("token") != nil
        if hasFailed { logRefusedToken() }
        return loginPage(base, next: next, hasFailed: hasFailed)
    }

    private func logRefusedToken() {
        guard let omitted = refusedTokens.note(at: Date()) else { return }
        let metadata: Logger.Metadata = omitted > 0 ? ["strata.omitted": "\(omitted)"] : [:]
        options.logger.notice("The console has refused a wrong token.", metadata: metadata)
    }

    private func welcome(_ request: Request, to address: String) -> Response {
        var response = Response.redirect(to: address)
        response.setCookie(access.cookie(for: request))
        return response
    }

    private func loginPage(_ base: String, next: String, hasFailed: Bool) -> Response {
        view(
            .login,
            PageContent(title: "Enter the token", LoginValues(next: next, hasFailed: hasFailed)),
            ConsoleRequest(self, base, ConsoleFields(), person: nil),
            status: .unauthorized,
            isKnown: false
        )
    }

    /// Answers the form in which a person enters the token, or shows the form.
    func login(_ request: Request, _ base: String) async throws -> Response {
        guard request.method == .post else {
            try Self.requireReading(request, allowed: "GET, HEAD, POST")
            if access.isAuthenticated(request) { return .redirect(to: base) }
            return loginPage(base, next: "", hasFailed: false)
        }
        guard access.isSameOrigin(request) else { throw Self.foreignForm }
        let form = try await Self.form(of: request)
        let next = NextPage.known(form.text("next") ?? "")
        guard access.accepts(token: form.text("token") ?? "") else {
            logRefusedToken()
            return loginPage(base, next: next, hasFailed: true)
        }
        return welcome(request, to: base + next)
    }
}
