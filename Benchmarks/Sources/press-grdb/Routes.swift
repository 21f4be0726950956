import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The endpoints of press that are measured, over GRDB.
struct Routes: Sendable {
    let store: ArticleStore

    private static let bodyLimit = 1_048_576

    func build() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        // The middleware of press.
        router.addMiddleware {
            MethodMiddleware<BasicRequestContext>()
            TracingMiddleware<BasicRequestContext>(redactingQueryParameters: ["token"])
            MetricsMiddleware<BasicRequestContext>()
            ProblemMiddleware<BasicRequestContext>()
        }
        router.get("articles") { request, _ in try await list(request) }
        router.get("articles/:id") { request, context in try await read(request, context) }
        router.put("articles/:id") { request, context in try await edit(request, context) }
        router.get("search") { request, _ in try await search(request) }
        return router
    }

    private func list(_ request: Request) async throws -> Response {
        let size = try Self.size(request)
        var position: PageToken?
        if let text = request.uri.queryParameters.get("after") {
            guard let token = PageToken(text) else { throw Problem(.badRequest, "\"after\" is not a page token.") }
            position = token
        }
        let (items, next) = try await store.page(size: size, after: position)
        let address = next.map { "\(request.uri.path)?after=\($0.text)&size=\(size)" }
        return try JSON.response(Page(items: items, next: address))
    }

    private func read(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        guard let article = try await store.article(Self.id(context)) else { throw Problem(.notFound) }
        let headers: HTTPFields = [.eTag: EntityTag.text(article.version)]
        if EntityTag.isKnown(article.version, to: request) { return Response(status: .notModified, headers: headers) }
        return try JSON.response(article, headers: headers)
    }

    private func edit(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let id = try Self.id(context)
        guard let header = request.headers[.ifMatch] else { throw Problem(.preconditionRequired) }
        let tags = EntityTag.list(header)
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") == true else {
            throw Problem(.unsupportedMediaType)
        }
        let body = try await request.body.collect(upTo: Self.bodyLimit)
        let draft = try JSONDecoder().decode(ArticleDraft.self, from: Data(body.readableBytesView))
        guard draft.isValid else { throw Problem(.unprocessableContent) }
        let article = try await store.edit(id, draft) { tags.contains("*") || tags.contains(EntityTag.text($0)) }
        return try JSON.response(article, headers: [.eTag: EntityTag.text(article.version)])
    }

    private func search(_ request: Request) async throws -> Response {
        guard let text = request.uri.queryParameters.get("q"), !text.isEmpty, text.utf8.count <= 500 else {
            throw Problem(.badRequest, "\"q\" must be a text of 1 to 500 bytes.")
        }
        let found = try await store.search(text, limit: Self.size(request))
        return try JSON.response(Page(items: found.map { SearchResult($0) }, next: nil))
    }

    private static func size(_ request: Request) throws -> Int {
        guard let text = request.uri.queryParameters.get("size") else { return 20 }
        guard let number = Int(text), (1...100).contains(number) else {
            throw Problem(.badRequest, "\"size\" must be a number from 1 to 100.")
        }
        return number
    }

    private static func id(_ context: BasicRequestContext) throws -> Int64 {
        guard let id = context.parameters.get("id").flatMap({ Int64($0) }) else { throw Problem(.notFound) }
        return id
    }
}

/// A part of a list.
struct Page<Item: Encodable & Sendable>: Encodable, Sendable {
    let items: [Item]
    let next: String?
}

/// An article that a search has found, as press answers.
struct SearchResult: Encodable, Sendable {
    struct Fragment: Encodable, Sendable {
        let text: String
        let isMatch: Bool
    }

    let id: Int64
    let title: String
    let score: Double
    let snippet: [Fragment]

    init(_ found: FoundArticle) {
        (id, title, score) = (found.id, found.title, found.score)
        var fragments: [Fragment] = []
        for part in found.snippet.split(separator: "\u{1}", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: "\u{2}", maxSplits: 1, omittingEmptySubsequences: false)
            // The text before the first match has no end of a match.
            if pieces.count == 2 { fragments.append(Fragment(text: String(pieces[0]), isMatch: true)) }
            if let rest = pieces.last, !rest.isEmpty { fragments.append(Fragment(text: String(rest), isMatch: false)) }
        }
        snippet = fragments
    }
}

/// Entity tags of versions.
enum EntityTag {
    static func text(_ version: Int) -> String { "\"\(version)\"" }

    static func list(_ header: String) -> [String] {
        header.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    static func isKnown(_ version: Int, to request: Request) -> Bool {
        guard let header = request.headers[.ifNoneMatch] else { return false }
        let tags = list(header)
        return tags.contains("*") || tags.contains { $0 == text(version) || $0 == "W/" + text(version) }
    }
}

/// The JSON of answers.
enum JSON {
    static func response(_ value: some Encodable, headers: HTTPFields = [:]) throws -> Response {
        var headers = headers
        headers[.contentType] = "application/json; charset=utf-8"
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let data = try encoder.encode(value)
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}
