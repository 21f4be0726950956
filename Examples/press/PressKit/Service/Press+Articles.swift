import Crypto
import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// An article as a client sends it.
struct ArticleDraft: Draft, Encodable {
    static let fields: Set<String> = ["title", "body", "author", "isPublished"]

    var title: String
    var body: String
    var author: ObjectID<Author>
    /// Whether to publish the article. A published article stays published.
    var isPublished: Bool?

    /// A digest of all fields. It does not depend on the spaces and the order of the fields in the JSON of the client.
    var digest: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return Data(SHA256.hash(data: try encoder.encode(self)))
        }
    }
}

/// An article that a search has found.
struct SearchResult: Encodable, Sendable {
    /// A piece of a text.
    struct Fragment: Encodable, Sendable {
        let text: String
        let isMatch: Bool
    }

    let id: ObjectID<Article>
    let title: String
    let score: Double
    /// The part of the body that matches best.
    let snippet: [Fragment]
}

extension Press {
    func articles(_ page: PageQuery) async throws -> QueryPage<Article.Row> {
        try await stack.page(Article.newest, size: page.size, after: page.after)
    }

    func article(_ id: ObjectID<Article>) async throws -> Article.Row {
        try await stack.background { context in try context.row(Article.where { $0.id == id }) }
    }

    /// Adds an article.
    ///
    /// - Parameters:
    ///   - draft: the article.
    ///   - key: identifies the request. A repeated request with this key gets the article that the first one has added.
    /// - Throws: ``Problem``, with 422 if another request has the key; the errors of the store. After some of them, for
    ///   example `uncertain`, the article may be stored; a request with the same key finds out.
    func addArticle(_ draft: ArticleDraft, key: String? = nil) async throws -> Article.Row {
        let now = Date()
        let digest = try key.map { _ in try draft.digest }
        return try await stack.write { context in
            if let key, let request = try context.first(ArticleRequest.where { $0.key == key }),
                let article = request.article
            {
                if let known = request.digest, known != digest { throw IdempotencyKey.otherRequest }
                return article.snapshot
            }
            let author = try context.namedAuthor(draft.author)
            let article = context.insert(Article(title: draft.title, body: draft.body, author: author))
            if let key { context.insert(ArticleRequest(key: key, digest: digest, article: article)) }
            if draft.isPublished == true { context.publish(article, at: now) }
            return article.snapshot
        }
    }

    func editArticle(_ id: ObjectID<Article>, _ draft: ArticleDraft, if condition: IfMatch) async throws -> Article.Row
    {
        let now = Date()
        return try await stack.write { context in
            let article = try context.object(id, if: condition)
            if draft.isPublished == false, article.publishedAt != nil {
                throw Problem(.conflict, "The article is published, and cannot become a draft again.")
            }
            article.title = draft.title
            article.body = draft.body
            article.author = try context.namedAuthor(draft.author)
            if draft.isPublished == true, article.publishedAt == nil { context.publish(article, at: now) }
            article.revise()
            return article.snapshot
        }
    }

    /// Deletes an article with its comments and pictures, also at the remote.
    func deleteArticle(_ id: ObjectID<Article>, if condition: IfMatch) async throws {
        try await stack.write { context in
            let article = try context.object(id, if: condition)
            for picture in try article.pictures.fetch() {
                try context.removeBytes(of: picture)
            }
            let cloud = context.cloud(account)
            if let folder = try cloud.find(Picture.folder(of: id)) { try cloud.delete(folder) }
            context.delete(article)
        }
    }

    func search(_ text: String, limit: Int) async throws -> [SearchResult] {
        try await stack.background { context in
            let query = Article.search(text).where { $0.publishedAt != nil }.limit(limit)
            return try context.matches(query).map { match in
                let snippet = try match.snippet(words: 24) { $0.body }
                return SearchResult(
                    id: match.object.id,
                    title: match.object.title,
                    score: match.score,
                    snippet: snippet?.fragments.map {
                        SearchResult.Fragment(text: String($0.text), isMatch: $0.isMatch)
                    } ?? []
                )
            }
        }
    }
}

extension ObjectContext {
    /// Publishes an article. The operation that announces it is part of the same commit: either both are stored, or
    /// neither.
    func publish(_ article: Article, at date: Date) {
        article.publishedAt = date
        enqueue(
            AnnounceArticle(article: article.id),
            in: .mail,
            key: "announce \(article.id)",
            tags: ["article"]
        )
    }

    /// The author that a draft names.
    ///
    /// - Throws: ``Problem`` with 422 if the author does not exist.
    func namedAuthor(_ id: ObjectID<Author>) throws -> Author {
        do {
            if let author = try find(id) { return author }
        } catch let error as StrataError where error.code == .idOfOtherStore {}
        throw Problem.unprocessable("author", "is not an author of this newspaper")
    }

    /// The row that a query finds.
    ///
    /// - Throws: ``Problem`` with 404 if it finds nothing.
    func row<Object: Model>(_ query: Query<Object>) throws -> Object.Row {
        guard let row = try rows(query.limit(1)).first else { throw Problem.notFound }
        return row
    }

    /// An object to edit. Blocks of `write` run one after the other, so that no other edit comes between the comparison
    /// and the commit.
    ///
    /// - Throws: ``Problem`` with 404 if the object does not exist, and with 412 if it has another version.
    func object<Object: Versioned>(_ id: ObjectID<Object>, if condition: IfMatch) throws -> Object {
        guard let object = try find(id) else { throw Problem.notFound }
        guard condition.allows(object.version) else {
            throw Problem(.preconditionFailed, "The object has changed. Read it again.")
        }
        return object
    }
}
