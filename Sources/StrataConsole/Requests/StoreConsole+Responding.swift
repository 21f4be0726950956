import Hummingbird
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

    static var unknownPath: ConsoleError { .notFound("The console does not have this page.") }

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
        // The page that asks for the token needs the assets too.
        if case .asset(let asset) = target {
            try Self.requireReading(request)
            return asset.response
        }
        if case .login = target { return try await login(request, base) }
        let query = try ConsoleFields(parsing: request.uri.query ?? "")
        guard access.isAuthenticated(request) else { return authenticate(request, target, query, base) }
        try query.requireSingleValues(except: target.repeatedName)
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

    static func requireReading(_ request: Request, allowed: String = "GET, HEAD") throws {
        guard request.method == .get || request.method == .head else { throw wrongMethod(allowed: allowed) }
    }

    private static func wrongMethod(allowed: String) -> ConsoleError {
        var error = ConsoleError(.methodNotAllowed, "This address does not answer requests of this method.")
        error.allowedMethods = allowed
        return error
    }
}
