import Foundation
import Testing

@testable import Strata

@Suite("Predicates through relationships")
struct RelationshipPredicateTests {
    let store: TestStore
    let ursula: ObjectID<Author>
    let articles: [ObjectID<Article>]

    init() throws {
        store = try TestStore()
        ursula = try store.insert(Author.self, ["name": "Ursula", "fee": 2.0], number: 1)
        try store.insert(Author.self, ["name": "Stanislaw"], number: 2)
        var articles: [ObjectID<Article>] = []
        for (number, author) in [(11, 1), (12, 1), (13, 2), (14, nil)] as [(Int64, Int?)] {
            articles.append(
                try store.insert(
                    Article.self,
                    ["slug": "s\(number)", "title": "t", "views": 0, "author": author],
                    number: number
                )
            )
        }
        self.articles = articles
        try store.insert(Comment.self, ["text": "thanks", "likes": 5, "article": 11])
        try store.insert(Comment.self, ["text": "no thanks", "article": 11])
        try store.insert(Comment.self, ["text": "why", "likes": 1, "article": 13])
        try store.insert(Cover.self, ["color": "red", "article": 12])
    }

    private func found(_ condition: (Article.Columns) -> Condition<Article>) throws -> [Int64] {
        try store.numbers(Article.where(condition))
    }

    @Test("Conditions follow to-one relationships, which compare as nil if they have no object")
    func toOne() throws {
        #expect(try found { $0.author.name == "Ursula" } == [11, 12])
        #expect(try found { $0.author.name != "Ursula" } == [13, 14])
        #expect(try found { $0.author.name == nil } == [14])
        #expect(try found { $0.author.fee == nil } == [13, 14])
        #expect(try found { !($0.author.fee > 1) } == [13, 14])
        #expect(try found { $0.author == nil } == [14])
        #expect(try found { $0.author != nil } == [11, 12, 13])
        #expect(try found { $0.author == ursula } == [11, 12])
        #expect(try found { $0.author != ursula } == [13, 14])
        let object: Author? = Author(_$row: .init(id: ursula, values: []))
        #expect(try found { $0.author == object } == [11, 12])
        #expect(try found { $0.author.id.in([ursula]) } == [11, 12])
        #expect(try found { $0.id > articles[2] } == [14])
    }

    @Test("Conditions follow several levels, the derived side and named conditions")
    func deep() throws {
        #expect(try store.numbers(Comment.where { $0.article.author.name == "Ursula" }) == [15, 16])
        #expect(
            try store.numbers(Comment.where { $0.article.cover.color == nil && $0.article.author == ursula }).count == 2
        )
        #expect(try found { $0.cover.color == "red" } == [12])
        #expect(try found { $0.cover == nil } == [11, 13, 14])
        #expect(try found { $0.cover.article == articles[1] } == [12])
        try store.run("UPDATE Article SET length = 200 WHERE id = 13")
        #expect(try store.numbers(Comment.where { $0.article.isLong }) == [17])
        #expect(try store.numbers(Comment.where { !$0.article.isLong }) == [15, 16])
    }

    @Test("A path is joined once, and a foreign key is compared without a join")
    func joins() throws {
        let twice = try Article.where { $0.author.name == "x" || $0.author.fee > 1 }.sorted { $0.author.name.ascending }
            .compile(.ids, using: store.sources)
        #expect(twice.sql.components(separatedBy: "JOIN").count == 2)
        #expect(twice.tables == ["Article", "Author"])
        #expect(
            !(try Article.where { $0.author.id == ursula }.compile(.ids, using: store.sources).sql.contains("JOIN"))
        )
    }

    @Test("`any`, `all`, `none`, `isEmpty` and `count` work on to-many relationships")
    func toMany() throws {
        #expect(try found { $0.comments.any { $0.text.contains("thanks") } } == [11])
        #expect(try found { $0.comments.all { $0.likes > 0 } } == [12, 13, 14])
        #expect(try found { $0.comments.none { $0.likes > 3 } } == [12, 13, 14])
        #expect(try found { $0.comments.isEmpty } == [12, 14])
        #expect(try found { !$0.comments.isEmpty } == [11, 13])
        #expect(try found { $0.comments.count == 2 } == [11])
        #expect(try found { $0.comments.count(where: { $0.likes != nil }) == 1 } == [11, 13])
        #expect(try store.numbers(Article.sorted { $0.comments.count.descending }) == [11, 13, 12, 14])
        #expect(try found { $0.author.articles.count > 1 } == [11, 12])
        #expect(try found { $0.author.articles.isEmpty } == [14])
        #expect(try store.numbers(Author.where { $0.articles.any { $0.comments.any { $0.likes == 1 } } }) == [2])
        #expect(try store.numbers(Author.where { $0.articles.any { $0.author.name == "Ursula" } }) == [1])
        #expect(try store.numbers(Author.where { $0.articles.contains(articles[2]) }) == [2])
    }

    @Test("An ordered many-to-many relationship can be queried from both sides")
    func manyToMany() throws {
        try store.insert(Writer.self, ["name": "w"], number: 30)
        try store.insert(Writer.self, ["name": "v"], number: 31)
        for (number, name) in [(41, "3"), (42, "1"), (43, "2")] as [(Int64, String)] {
            try store.insert(Spouse.self, ["name": name], number: number)
        }
        try store.run("INSERT INTO marriage VALUES (30, 43, 2), (30, 41, 0), (30, 42, 1), (31, 42, 0)")
        let spouses = Query<Spouse>(membersOf: Writer.self, numbers: [30], relationship: "spouses")
        #expect(try store.texts(spouses, \.name) == ["3", "1", "2"])
        #expect(try store.rows(spouses, .last(2)).map(\.id.rawValue) == [42, 43])
        #expect(try store.rows(spouses.offset(1).limit(1), .last(2)).map(\.id.rawValue) == [42])
        #expect(try store.texts(spouses.where { $0.name > "1" }.sorted { $0.name.ascending }, \.name) == ["2", "3"])
        #expect(try store.count(spouses) == 3)
        #expect(try spouses.compile(.count, using: store.sources).tables == ["Spouse", "marriage"])
        #expect(try store.numbers(Writer.where { $0.spouses.any { $0.name == "1" } }) == [30, 31])
        #expect(try store.numbers(Writer.where { $0.spouses.all { $0.name == "1" } }) == [31])
        #expect(try store.numbers(Spouse.where { $0.writers.count == 2 }) == [42])
        #expect(
            try store.numbers(Query<Writer>(membersOf: Spouse.self, numbers: [42], relationship: "writers")) == [
                30, 31,
            ]
        )
    }

    @Test("A query for the members of one object combines with conditions and scopes")
    func members() throws {
        let written = Query<Article>(membersOf: Author.self, numbers: [1], relationship: "articles")
        #expect(try store.numbers(written) == [11, 12])
        #expect(try store.rows(written, .last(1)).map(\.id.rawValue) == [12])
        #expect(try store.numbers(written.published) == [])
        try store.run("UPDATE Article SET publishedAt = id")
        #expect(try store.numbers(written.published) == [12, 11])
        let compiled = try written.published.recent.compile(.ids, using: store.sources)
        #expect(
            compiled.sql
                == #"SELECT t0."id" FROM "Article" AS t0 WHERE t0."author" = ?1 AND t0."publishedAt" IS NOT NULL "#
                + #"ORDER BY t0."publishedAt" DESC, t0."id" LIMIT ?2"#
        )
        #expect(compiled.bindings == [.integer(1), .integer(2)])
        #expect(
            try store.numbers(written.where { $0.slug == "s12" }.or { $0.slug == "s13" }) == [12],
            "membership always holds"
        )
    }

    @Test("A subquery under an alias can replace a table")
    func subqueries() throws {
        var sources = store.sources
        sources.source = { table in
            switch table {
            case .model(let schema):
                "(SELECT * FROM \"\(schema.table)\" WHERE id <> 11 UNION ALL SELECT * FROM \"\(schema.table)\" WHERE 0)"
            case .join(let name): "\"\(name)\""
            }
        }
        let query = Article.where { $0.author.name == "Ursula" || $0.comments.count > 0 }
        let compiled = try query.compile(.ids, using: sources)
        #expect(try store.rows(compiled.sql, compiled.bindings) { try $0.read(Int64.self, at: 0) } == [12, 13])
    }
}
