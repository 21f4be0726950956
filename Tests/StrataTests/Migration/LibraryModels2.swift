import Foundation
import Strata

/// The second version of the library, with every change that Strata makes by itself, and every renaming.
enum Library2 {
    @Model(table: "people", originalName: "Author") final class Person {
        @Attribute(.unique, originalName: "name") var fullName: String
        var country: String?
        var fee: Double = 0
        var born: Date = Date(timeIntervalSinceReferenceDate: 7)
        @Relationship(inverse: \Article.writer, ordered: true, originalName: "articles") var works: Many<Article>
        @Relationship(inverse: \Portrait.author) var portrait: Portrait?
    }

    @Model(.index("year", "title")) final class Article {
        var title: String
        @Attribute(.unique) var slug: String
        var year: Int
        @Attribute(.indexed) var views: Double = 0
        var rating: String?
        var price: String
        @Attribute(.externalStorage) var checksum: Data
        var scan: Data?
        var language: String = "it's \"en\""
        var token: UUID = UUID()
        var note: String?
        var stars: Int? = -5
        @Attribute(.externalStorage) var cover: Data = Data([1, 2, 3])
        @Relationship(originalName: "author") var writer: Person?
        @Relationship(inverse: \Label.articles, ordered: true, originalName: "tags") var labels: Many<Label>
        @Relationship(inverse: \Review.article) var reviews: Many<Review>
    }

    @Model(originalName: "Tag") final class Label {
        var label: String
        var articles: Many<Article>
    }

    @Model final class Portrait {
        var file: String
        var author: Person?
    }

    @Model final class Review {
        @Attribute(.unique) var text: String
        var article: Article?
    }

    static let models: [any Model.Type] = [Person.self, Article.self, Label.self, Portrait.self, Review.self]
    static let migration = Migration().dropping("Article.subtitle")
}

/// The content of a library, independent of the names in its version.
struct LibraryContent: Equatable, Sendable {
    var people: [String] = []
    var articles: [String] = []
}

extension LibraryContent {
    init(first context: ObjectContext) throws {
        people = try context.fetch(Library1.Author.sorted { $0.name.ascending }).map { author in
            let works = try author.articles.fetch().map(\.slug)
            let born = author.born ?? Date(timeIntervalSinceReferenceDate: 7)
            return "\(author.id.rawValue) \(author.name) \(author.country) \(author.fee) \(born) \(works) "
                + "\(author.portrait?.file ?? "-")"
        }
        articles = try context.fetch(Library1.Article.sorted { $0.slug.ascending }).map { article in
            let tags = try article.tags.fetch().map(\.label)
            let rating = article.rating.map { "\($0)" } ?? "-"
            return
                "\(article.id.rawValue) \(article.slug) \(article.title) \(article.year) \(Double(article.views)) \(rating) "
                + "\(article.price) \(Array(article.checksum)) \(Array(article.scan ?? Data())) "
                + "\(article.author?.name ?? "-") \(tags)"
        }
    }

    init(second context: ObjectContext) throws {
        people = try context.fetch(Library2.Person.sorted { $0.fullName.ascending }).map { person in
            let works = try person.works.fetch().map(\.slug)
            return "\(person.id.rawValue) \(person.fullName) \(person.country!) \(person.fee) \(person.born) \(works) "
                + "\(person.portrait?.file ?? "-")"
        }
        articles = try context.fetch(Library2.Article.sorted { $0.slug.ascending }).map { article in
            let labels = try article.labels.fetch().map(\.label)
            return "\(article.id.rawValue) \(article.slug) \(article.title) \(article.year) \(article.views) "
                + "\(article.rating ?? "-") \(article.price) \(Array(article.checksum)) \(Array(article.scan ?? Data())) "
                + "\(article.writer?.fullName ?? "-") \(labels)"
        }
    }
}

extension ScratchFolder {
    /// A filled library of the first version, made by this version of Strata or by the one before.
    func library(format: Int) async throws -> URL {
        if format == 1 { return try stored("library-format-1") }
        let url = file("library-format-2.sqlite")
        try await with(url, Library1.models) { try Library1.fill($0) }
        return url
    }
}
