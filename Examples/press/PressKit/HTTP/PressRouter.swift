import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Strata
import StrataConsole

/// The routes of the service.
struct PressRouter: Sendable {
    let press: Press
    let metrics: PrometheusMetrics
    let feed: EventFeed
    /// The console for operators; nil if no token is set.
    private let console: StoreConsole?

    init(_ press: Press, metrics: PrometheusMetrics, logger: Logger) {
        self.press = press
        self.metrics = metrics
        feed = EventFeed(
            stack: press.stack,
            heartbeat: press.settings.eventHeartbeat,
            clients: EventClients(limit: press.settings.maximumEventClients)
        )
        console = press.settings.console.map { settings in
            StoreConsole(
                of: press.stack,
                options: ConsoleOptions(
                    title: "press",
                    allowsChanges: settings.editor != nil,
                    authentication: .token(settings.token),
                    operatorName: settings.editor ?? "console",
                    logger: logger
                )
            )
        }
    }

    var bodyLimit: Int { press.settings.maximumBodyBytes }

    func build() -> Router<PressContext> {
        // The middleware must be known before the routes, so their list comes from a router without middleware.
        let routes = Router(context: PressContext.self)
        addRoutes(to: routes)
        let table = MethodTable(routes)
        let router = Router(context: PressContext.self, options: .autoGenerateHeadEndpoints)
        router.addMiddleware {
            MethodMiddleware<PressContext>(table: table)
            // The address that opens the console contains its token, which must not get into traces.
            TracingMiddleware<PressContext>(redactingQueryParameters: ["token"])
            MetricsMiddleware<PressContext>()
            ProblemMiddleware<PressContext>()
            HistoryMiddleware<PressContext>(stack: press.isShared ? press.stack : nil)
        }
        addRoutes(to: router)
        console?.addRoutes(to: router.group("console"))
        return router
    }

    private func addRoutes(to router: Router<PressContext>) {
        addArticles(to: router)
        addAuthors(to: router)
        addComments(to: router)
        addPictures(to: router)
        addSubscribers(to: router)
        addOperations(to: router)
    }

    private func addArticles(to router: Router<PressContext>) {
        router.get("articles") { request, _ in
            let page = try PageQuery(request)
            return try page.response(try await press.articles(page), of: request)
        }
        router.post("articles") { request, _ in
            let draft = try await PressJSON.decode(ArticleDraft.self, from: request, limit: bodyLimit)
            let row = try await press.addArticle(draft, key: IdempotencyKey.key(of: request))
            return try Self.created(row, at: "/articles/\(row.id)", Article.headers(row.version))
        }
        router.get("articles/:id") { request, context in
            let row = try await press.article(context.objectID(Article.self))
            return try Self.answer(
                row,
                Article.headers(row.version),
                isKnown: EntityTag.isKnown(row.version, to: request)
            )
        }
        router.put("articles/:id") { request, context in
            let (id, condition) = (try context.objectID(Article.self), try IfMatch(request))
            let draft = try await PressJSON.decode(ArticleDraft.self, from: request, limit: bodyLimit)
            let row = try await press.editArticle(id, draft, if: condition)
            return try PressJSON.response(row, headers: Article.headers(row.version))
        }
        router.delete("articles/:id") { request, context in
            try await press.deleteArticle(context.objectID(Article.self), if: IfMatch(request))
            return HTTPResponse.Status.noContent
        }
        router.get("search") { request, _ in
            let parameters = request.uri.queryParameters
            guard let text = parameters.get("q"), !text.isEmpty, text.utf8.count <= 500 else {
                throw Problem(.badRequest, "\"q\" must be a text of 1 to 500 bytes.")
            }
            guard parameters.get("after") == nil else {
                throw Problem(.badRequest, "A search does not have further pages. Leave out \"after\".")
            }
            let page = try PageQuery(request)
            return try PressJSON.response(Page(items: try await press.search(text, limit: page.size), next: nil))
        }
        router.get("events") { request, context in try feed.response(to: request, logger: context.logger) }
    }

    private func addOperations(to router: Router<PressContext>) {
        router.get("health/live") { _, _ in HTTPResponse.Status.ok }
        router.get("health/ready") { _, _ in
            let health = await press.health()
            return try PressJSON.response(health, status: health.isReady ? .ok : .serviceUnavailable)
        }
        router.get("metrics") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text()))
            )
        }
    }

    /// The answer to a read: the row, or 304 without it.
    static func answer(_ row: some Encodable, _ headers: HTTPFields, isKnown: Bool) throws -> Response {
        if isKnown { return Response(status: .notModified, headers: headers) }
        return try PressJSON.response(row, headers: headers)
    }

    /// The answer to an insert.
    static func created(_ row: some Encodable, at address: String, _ headers: HTTPFields = [:]) throws -> Response {
        var headers = headers
        headers[.location] = address
        return try PressJSON.response(row, status: .created, headers: headers)
    }
}
