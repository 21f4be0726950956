import Foundation
import MainActorModels
import PublicModels
import Testing

@testable import Strata

@Suite("Models that @Model generates")
struct ModelMacroTests {
    typealias Article = MacroModels.Article

    @Test("An object that is not inserted has no assigned id and belongs to no context")
    func fresh() {
        let article = Article(slug: "a")
        #expect(!article.id.isAssigned)
        #expect(article.id == article.snapshot.id)
    }

    @Test("The memberwise initialiser takes defaults from the declarations, nil for optionals")
    func memberwise() {
        let article = Article(slug: "a")
        #expect(article.title == "" && article.views == 0 && article.publishedAt == nil)
        #expect(article.author == nil && article.status == nil && article.mood == .draft)

        let date = Date(timeIntervalSinceReferenceDate: 1)
        let full = Article(
            slug: "b",
            title: "T",
            views: 3,
            publishedAt: date,
            author: nil,
            status: .published,
            mood: .published,
            cover: nil
        )
        #expect(full.slug == "b" && full.title == "T" && full.views == 3 && full.publishedAt == date)
        #expect(full.status == .published && full.mood == .published)
        #expect(full.shout == "T" && full.cache.isEmpty && Article.limit == 3)
        #expect(Article(draft: "c").status == .draft)
    }

    @Test("A row keeps an optional enum as a value, and an optional model as its id once that is assigned")
    func optionalEnumAndToOne() async throws {
        let stack = try await openMacroModels()
        try await stack.background { context in
            let author = MacroModels.Author(name: "U")
            let article = Article(slug: "a", author: author, status: .draft)
            let made: Article.Row = article.snapshot
            #expect(made.status == .draft && made.author == nil && article.author === author)
            context.insert(article)
            let row: Article.Row = article.snapshot
            #expect(row.author == author.id && author.id.isAssigned && article.author === author)
        }
    }

    @Test("Accessors read and write the row")
    func accessors() {
        let article = Article(slug: "a")
        article.views += 2
        article.status = .published
        let author = MacroModels.Author(name: "U")
        article.author = author
        #expect(article.snapshot.views == 2 && article.snapshot.status == .published)
        #expect(article.author === author)
        article.author = nil
        #expect(article.author == nil)
    }

    @Test("The schema has columns in source order, without to-many and derived one-to-one relationships")
    func schema() throws {
        let schema = Article._$schema
        #expect(schema.name == "Article" && schema.table == "articles")
        #expect(schema.columns.map(\.name) == ["slug", "title", "views", "publishedAt", "author", "status", "mood"])
        #expect(schema.columns.map(\.isOptional) == [false, false, false, true, true, true, false])
        #expect(schema.columns.map(\.type) == [.text, .text, .integer, .real, .integer, .text, .text])
        #expect(schema.columns.map { $0.destination != nil } == [false, false, false, false, true, false, false])
        let options = schema.options.map { option in
            switch option.kind {
            case .unique(let index): "unique \(index.text)"
            case .index(let index): "index \(index.text)"
            default: "another one"
            }
        }
        #expect(options == ["unique (title, author)", "index (views)"])

        #expect(schema.relationships.map(\.name) == ["comments", "cover"])
        #expect(schema.relationships.map(\.isToMany) == [true, false])
        #expect(schema.relationships.map(\.isOrdered) == [true, false])
        #expect(schema.relationships.map(\.inverse) == ["article", "article"])
        #expect(schema.relationships.map(\.deleteRule) == [.cascade, .nullify])
    }

    @Test("Options of @Attribute and of @Relationship without an inverse reach the column")
    func options() {
        let kinds = Article._$schema.columns[0].options.map { "\($0.kind)" }
        #expect(kinds.count == 3 && kinds[0] == "unique" && kinds[2] == "originalName(\"handle\")")
        let checks = MacroModels.Author._$schema.columns[0].options.map(\.kind)
        guard case .check("must not be x", nil, nil, let isValid)? = checks.last else { return #expect(Bool(false)) }
        #expect(checks.count == 2 && isValid(.text("y")) && !isValid(.text("x")))
        let article = MacroModels.Comment._$schema.columns[1]
        #expect(article.deleteRule == .cascade && article.options.map { "\($0.kind)" } == ["required", "indexed"])
    }

    @Test("Columns has an expression for the id and each property")
    func columns() {
        let columns = Article.columns
        guard case .column(let slug) = columns.slug.node else { return #expect(Bool(false)) }
        #expect(slug.name == "slug" && columns.author._$path.hops.map(\.name) == ["author"])
        #expect(columns.comments.members.relationship == "comments")
        #expect(columns.cover._$path.hops.map(\.name) == ["cover"] && columns.cover._$path.hops.allSatisfy(\.isDerived))
        let _: IDColumn<Article, Article> = columns.id
        let _: Column<Article, Article.Status?> = columns.status
        let _: ToOne<Article, MacroModels.Cover> = columns.cover
        let _: RelationshipExpression<Article, MacroModels.Comment> = columns.comments
    }

    @Test("Names that generated code uses itself, and keywords in backticks, are names like any other")
    func awkwardNames() async throws {
        typealias Awkward = MacroModels.Awkward
        let stack = try await openMacroModels()
        try await stack.background { context in
            let object = context.insert(Awkward(default: .high))
            object.stored = MacroModels.Address(street: "s")
            object.class = Awkward(column: 7)
            try context.commit()
            let found = try context.first(Awkward.where { $0.default == .high && $0.class.column == 7 })
            #expect(found === object && object.class?.switch === object && object.stored?.street == "s")
        }
        let object = Awkward(default: .high)
        object.stored = MacroModels.Address(street: "s")
        object.newValue = .high
        object.class = Awkward()
        #expect(object.default == .high && object.stored?.street == "s" && object.newValue == .high)
        #expect(object.in_ == "quoted \"text\"")
        #expect(Awkward._$schema.columns.map(\.name).suffix(3) == ["default", "class", "in_"])
        #expect(Awkward._$schema.relationships.map(\.inverse) == ["class"])
        #expect(try object.snapshot._$value(at: 5) == .integer(2))
    }

    @Test("A public model is used from another module; what is private in it stays out of its initialiser")
    func publicModels() {
        let author = PublicModels.Author(reading: " U ")
        author.countBook()
        #expect(author.name == "U" && author.bookCount == 1 && author.hasSecret)
        #expect(PublicModels.Author._$schema.columns.map(\.name) == ["name", "bookCount", "note", "secret"])
        let book = PublicModels.Book(isbn: "1", author: author, kind: .essay)
        #expect(book.kind == .essay && !book.default && book.author === author)
        #expect(Sealed("k").opens(with: "k"))
        #expect(makeHidden() == "i" && Token().snapshot._$differences(from: Token().snapshot).isEmpty)
    }

    @Test("A nonisolated model of a main-actor module is used on the main actor and away from it")
    func nonisolatedModel() async {
        #expect(rename(Note(text: "n")).text == "n!")
        let text = await MainActor.run { makeNote().text }
        #expect(text == "n")
    }
}
