import Foundation
import GRDB

/// The statements of the service, in the way that GRDB's documentation recommends: a pool, Codable records, an FTS5 table
/// that follows its content, and pages by the last key.
struct ArticleStore: Sendable {
    let pool: DatabasePool

    /// Opens the file with the durability and the caches of Strata's defaults.
    init(_ file: URL) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            let kibibytes = database.configuration.readonly ? 4096 : 16_384
            try database.execute(sql: "PRAGMA cache_size = -\(kibibytes)")
        }
        pool = try DatabasePool(path: file.path, configuration: configuration)
        // The pool sets NORMAL when it opens the file, so this comes afterwards.
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
            else { throw StoreError.wrongPragmas }
        }
        try Self.migrator.migrate(pool)
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.create(table: "author") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
                table.column("email", .text).notNull().unique()
                table.column("version", .integer).notNull()
            }
            try database.create(table: "article") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("body", .text).notNull()
                table.column("publishedAt", .double).indexed()
                table.column("version", .integer).notNull()
                table.column("author", .integer).notNull().indexed().references("author")
            }
            try database.create(virtualTable: "article_search", using: FTS5()) { table in
                table.synchronize(withTable: "article")
                table.tokenizer = .porter(wrapping: .unicode61(diacritics: .remove))
                table.column("title")
                table.column("body")
            }
            // A word in the title counts as much as four in the body. With this, FTS5 sorts by itself.
            try database.execute(
                sql: "INSERT INTO article_search (article_search, rank) VALUES ('rank', 'bm25(4.0, 1.0)')"
            )
        }
        return migrator
    }

    /// The newest articles, or those that follow a position.
    ///
    /// - Returns: the articles, and the position of the next page.
    func page(size: Int, after position: PageToken?) async throws -> ([ArticleItem], PageToken?) {
        try await pool.read { database in
            var request = ArticleItem.filter(Column("publishedAt") != nil)
                .order(Column("publishedAt").desc, Column("id").desc)
                .limit(size + 1)
            if let position {
                request = request.filter(
                    sql: "(publishedAt, id) < (?, ?)",
                    arguments: [position.publishedAt, position.id]
                )
            }
            var items = try request.fetchAll(database)
            guard items.count > size else { return (items, nil) }
            items.removeLast()
            return (items, items.last.flatMap { PageToken(after: $0) })
        }
    }

    func article(_ id: Int64) async throws -> Article? {
        try await pool.read { database in try Article.fetchOne(database, key: id) }
    }

    func search(_ text: String, limit: Int) async throws -> [FoundArticle] {
        guard let pattern = FTS5Pattern(matchingAllTokensIn: text) else { return [] }
        return try await pool.read { database in
            try FoundArticle.fetchAll(
                database,
                sql: """
                    SELECT article.id, article.title, -article_search.rank AS score,
                        snippet(article_search, 1, char(1), char(2), '', 24) AS snippet
                    FROM article_search
                    CROSS JOIN article ON article.id = article_search.rowid AND article.publishedAt IS NOT NULL
                    WHERE article_search MATCH ?
                    ORDER BY article_search.rank
                    LIMIT ?
                    """,
                arguments: [pattern, limit]
            )
        }
    }

    /// Edits an article whose version is still the one that the client has read.
    func edit(_ id: Int64, _ draft: ArticleDraft, if allows: @escaping @Sendable (Int) -> Bool) async throws -> Article
    {
        let now = Date()
        return try await pool.write { database in
            guard var article = try Article.fetchOne(database, key: id) else { throw StoreError.notFound }
            guard allows(article.version) else { throw StoreError.changed }
            try article.updateChanges(database) { article in
                article.title = draft.title
                article.body = draft.body
                article.author = draft.author
                if draft.isPublished == true, article.publishedAt == nil { article.publishedAt = now }
                article.version += 1
            }
            return article
        }
    }
}

enum StoreError: Error {
    case wrongPragmas
    case notFound
    case changed
}

/// An article as a client sends it.
struct ArticleDraft: Decodable, Sendable {
    var title: String
    var body: String
    var author: Int64
    var isPublished: Bool?

    /// The rules of press.
    var isValid: Bool { (1...200).contains(title.count) && body.count <= 100_000 }
}
