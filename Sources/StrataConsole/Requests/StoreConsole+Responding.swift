import Foundation
import Hummingbird
import Logging
import Strata

extension StoreConsole {
    /// Answers a request. A failure becomes a page.
    ///
    /// - Parameters:
    ///   - depth: the number of the path's parts below the console.
    ///   - person: the name of the person, as far as the application knows it.
    func respond(
        to request: Request,
        at target: ConsoleRoute.Target,
        depth: Int,
        person: String?
    ) async -> Response {
        let base = ConsoleLink.base(of: request.uri.path, depth: depth)
        let response: Response
        do {
            try check(request)
            guard let base else { return Self.finished(redirectToRoot(request), request) }
            response = try await answer(request, target, base, person)
        } catch {
            response = failurePage(for: error, request, target, base ?? "./", person)
        }
        return Self.finished(response, request)
    }

    /// The answer with the headers of all answers, and without a body for HEAD.
    private static func finished(_ response: Response, _ request: Request) -> Response {
        var response = request.method == .head ? response.createHeadResponse() : response
        SecurityHeaders.add(to: &response)
        return response
    }

    /// Refuses requests that no page of the console makes.
    private func check(_ request: Request) throws {
        guard access.allowsHost(of: request) else {
            throw ConsoleError(.misdirectedRequest, "The console has another address than this one.")
        }
        // With an empty part in the path, relative addresses would lead to other pages.
        let parts = request.uri.path.split(atBytes: "/", omitsEmpty: false).dropFirst().dropLast()
        guard parts.allSatisfy({ !$0.utf8.isEmpty }) else { throw Self.unknownPath }
        guard (request.uri.query ?? "").utf8.count <= ConsoleFields.greatestQuery else {
            throw ConsoleError(.uriTooLong, "The query has more than \(ConsoleFields.greatestQuery) bytes.")
        }
    }

    private static var unknownPath: ConsoleError { .notFound("The console does not have this page.") }

    /// Relative addresses only work below a path that ends with a slash.
    private func redirectToRoot(_ request: Request) -> Response {
        let name = request.uri.path.splitAtLast("/")?.after ?? ""
        return .redirect(to: "./\(name)/" + (request.uri.query.map { "?" + $0 } ?? ""))
    }

    private func answer(
        _ request: Request,
        _ target: ConsoleRoute.Target,
        _ base: String,
        _ person: String?
    ) async throws -> Response {
        // The page on which the token is entered needs them too.
        if case .asset(let asset) = target {
            try Self.requireReading(request)
            return asset.response
        }
        if case .login = target { return try await login(request, base) }
        let query = try ConsoleFields(parsing: request.uri.query ?? "")
        guard access.isAuthenticated(request) else { return authenticate(request, target, query, base) }
        try query.requireSingleValues(except: Self.repeatedName(target))
        switch target {
        case .page(let page):
            try Self.requireReading(request)
            // A person may open the printed address again.
            if access.hasToken, query.text("token") != nil {
                return .redirect(to: base + NextPage.following(target, query))
            }
            return try await show(page, ConsoleRequest(self, base, query, person: person), query)
        case .action(let action):
            guard request.method == .post else { throw Self.wrongMethod(allowed: "POST") }
            return try await run(action, request, query, base, person)
        case .download(let download):
            try Self.requireReading(request)
            guard store.has(.queues) else { throw Self.unknownPath }
            return try await download.response(ConsoleRequest(self, base, query, person: person))
        case .events:
            try Self.requireReading(request)
            guard feed.hasPlace else {
                throw ConsoleError(.serviceUnavailable, "Too many pages receive live updates. Close some of them.")
            }
            if request.method == .head { return Response(status: .ok, headers: [.contentType: "text/event-stream"]) }
            return EventStream(feed: feed).response(to: request)
        case .unknown, .asset, .login: throw Self.unknownPath
        }
    }

    private static func requireReading(_ request: Request, allowed: String = "GET, HEAD") throws {
        guard request.method == .get || request.method == .head else { throw wrongMethod(allowed: allowed) }
    }

    private static func wrongMethod(allowed: String) -> ConsoleError {
        var error = ConsoleError(.methodNotAllowed, "This address does not answer requests of this method.")
        error.allowedMethods = allowed
        return error
    }

    /// The name that may have several values in the query of an address.
    private static func repeatedName(_ target: ConsoleRoute.Target) -> String? {
        switch target {
        case .page(let page): page is OperationChangePage ? "id" : nil
        case .action(let action): action is OperationChangeAction ? "id" : nil
        default: nil
        }
    }

    // MARK: Pages

    private func show(_ page: any ConsolePage, _ request: ConsoleRequest, _ query: ConsoleFields) async throws
        -> Response
    {
        let notice = query.text("notice").flatMap { notices.text($0) }
        guard store.has(page.needs) else {
            let values = UnopenedValues(models: page.needs == .queues ? "queues" : "accounts")
            return view(.unopened, PageContent(title: page.title, values), request, current: page.path, notice: notice)
        }
        var content = try await page.content(request)
        content.title = content.title ?? page.title
        return view(page.template, content, request, current: page.path, notice: notice)
    }

    /// A page with the layout of the console.
    ///
    /// - Parameter isKnown: whether the person may use the console. Otherwise, the page shows no values of the store.
    private func view(
        _ template: PageTemplate,
        _ content: PageContent,
        _ request: ConsoleRequest,
        status: HTTPResponse.Status = .ok,
        current: String? = nil,
        notice: String? = nil,
        isKnown: Bool = true
    ) -> Response {
        let values = LayoutValues(
            consoleTitle: ViewText.line(options.title),
            title: ViewText.line(content.title ?? ""),
            base: request.base,
            commit: isKnown ? feed.position.commit : 0,
            formToken: request.allowsChanges ? access.formToken : nil,
            person: request.allowsChanges ? request.person.map { ViewText.line($0) } : nil,
            groups: isKnown ? NavigationView.all(current: current, base: request.base) : [],
            notice: notice,
            pageTemplate: template.name,
            content: content.values
        )
        return Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: Templates.render(values)))
        )
    }

    // MARK: Failures

    private func failurePage(
        for error: any Error,
        _ request: Request,
        _ target: ConsoleRoute.Target,
        _ base: String,
        _ person: String?
    ) -> Response {
        let failure = ConsoleError(error)
        if failure.isFault {
            options.logger.error("The console could not answer a request: \(ViewText.line("\(error)", to: 2000))")
        } else if failure.status == .forbidden {
            options.logger.info("The console has refused a request: \(ViewText.line(failure.message, to: 2000))")
        }
        // A person who is not known sees nothing but the message.
        let isKnown = access.allowsHost(of: request) && access.isAuthenticated(request)
        let query = isKnown ? (try? ConsoleFields(parsing: request.uri.query ?? "")) : nil
        let values = FailureValues(
            status: failure.status.code,
            message: ViewText.line(failure.message, to: 2000),
            back: query.flatMap { ReturnLink.link(for: target, $0, failure.status, base: base) }
        )
        var response = view(
            .failure,
            PageContent(title: failure.status.reasonPhrase, values),
            ConsoleRequest(self, base, ConsoleFields(), person: isKnown ? person : nil),
            status: failure.status,
            isKnown: isKnown
        )
        if let allowed = failure.allowedMethods { response.headers[.allow] = allowed }
        return response
    }

    // MARK: Tokens

    /// Accepts the token in the address that `strata serve` prints, or asks for it.
    private func authenticate(
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

    private func login(_ request: Request, _ base: String) async throws -> Response {
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

    // MARK: Actions

    private func run(
        _ action: any ConsoleAction,
        _ request: Request,
        _ query: ConsoleFields,
        _ base: String,
        _ person: String?
    ) async throws -> Response {
        guard store.allowsChanges else {
            throw ConsoleError.forbidden("The console may not change this store. Nothing was changed.")
        }
        guard access.isSameOrigin(request) else { throw Self.foreignForm }
        let form = try await Self.form(of: request)
        guard SecretText.isEqual(form.text("form-token") ?? "", to: access.formToken) else { throw Self.foreignForm }
        guard let person, !person.utf8.isEmpty else {
            throw ConsoleError.forbidden("The console does not know who you are. Nothing was changed.")
        }
        guard store.has(action.needs) else { throw Self.unknownPath }
        let result = try await action.run(ConsoleRequest(self, base, query, form: form, person: person))
        var metadata: Logger.Metadata = [
            "strata.person": "\(ViewText.line(person))",
            "strata.action": "\(action.path)",
            "strata.count": "\(result.count)",
            "strata.objects": "\(result.objects.prefix(100).map { ViewText.line($0) }.joined(separator: ", "))",
        ]
        if !result.values.isEmpty {
            metadata["strata.values"] = "\(result.values.map { ViewText.line($0) }.joined(separator: ", "))"
        }
        options.logger.notice("The console has changed the store.", metadata: metadata)
        let mark = result.page.containsByte(of: "?") ? "&" : "?"
        return .redirect(to: base + result.page + mark + "notice=" + notices.add(result.notice))
    }

    private static var foreignForm: ConsoleError {
        .forbidden(
            "The form does not come from a page of this console, or the console was started again since. Nothing was "
                + "changed. Load the page again, and repeat the action."
        )
    }

    private static func form(of request: Request) async throws -> ConsoleFields {
        let type = request.headers[.contentType] ?? ""
        let kind = (type.splitAtFirst(";")?.before ?? type).trimmingCharacters(in: .whitespaces).lowercased()
        guard kind.hasSameBytes(as: "application/x-www-form-urlencoded") else {
            throw ConsoleError(.unsupportedMediaType, "The request does not contain a form.")
        }
        var bytes = Data()
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= ConsoleFields.greatestForm else {
                throw ConsoleError(.contentTooLarge, "The form has more than \(ConsoleFields.greatestForm) bytes.")
            }
            bytes.append(contentsOf: part.readableBytesView)
        }
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw ConsoleError.invalid("The form is not UTF-8.")
        }
        return try ConsoleFields(parsing: text)
    }
}

extension ConsoleRequest {
    fileprivate init(
        _ console: StoreConsole,
        _ base: String,
        _ query: ConsoleFields,
        form: ConsoleFields = ConsoleFields(),
        person: String?
    ) {
        self.init(
            base: base,
            query: query,
            form: form,
            person: person,
            store: console.store,
            allowsChanges: console.store.allowsChanges && person != nil,
            slowStatements: console.options.slowStatements
        )
    }
}
