import Foundation
import Strata

/// The first version of a library, which made `Stores/library-format-1.sqlite`.
enum Library1 {
    @Model(.index("country", "name")) final class Author {
        @Attribute(.unique) var name: String
        @Attribute(.indexed) var country: String = ""
        var fee: Double = 0
        var born: Date?
        @Relationship(inverse: \Article.author, ordered: true) var articles: Many<Article>
        @Relationship(inverse: \Portrait.author) var portrait: Portrait?
    }

    @Model(.unique("title", "year")) final class Article {
        @Attribute(.unique) var slug: String
        var title: String
        var year: Int
        var subtitle: String?
        var views: Int = 0
        var rating: Int?
        var price: Decimal = 0
        var checksum: Data = Data()
        @Attribute(.externalStorage) var scan: Data?
        var author: Author?
        @Relationship(inverse: \Tag.articles, ordered: true) var tags: Many<Tag>
    }

    @Model final class Tag {
        var label: String
        var articles: Many<Article>
    }

    @Model final class Portrait {
        var file: String
        var author: Author?
    }

    static let models: [any Model.Type] = [Author.self, Article.self, Tag.self, Portrait.self]

    /// Fills an empty library: three authors, twelve articles, four tags, two portraits.
    static func fill(_ context: SavingContext) throws {
        let authors = (0..<3).map { index in
            context.insert(
                Author(
                    name: "Author \(index)",
                    country: ["US", "FR", ""][index],
                    fee: Double(index) * 1.25,
                    born: index == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(index) * -1e9)
                )
            )
        }
        let tags = (0..<4).map { context.insert(Tag(label: "tag \($0)")) }
        for index in 0..<12 {
            let article = context.insert(
                Article(
                    slug: "article-\(index)",
                    title: "Title \(index % 5)",
                    year: 1990 + index,
                    subtitle: index % 3 == 0 ? nil : "Of \(index)",
                    views: index * 1000,
                    rating: index % 4 == 0 ? nil : index % 4,
                    price: Decimal(index) / 4,
                    checksum: Data(repeating: UInt8(index), count: index),
                    scan: index % 2 == 0 ? nil : Data(repeating: UInt8(index), count: 200 + index)
                )
            )
            // The last article of each author comes first.
            let articles = authors[index % 3].articles
            if let first = try articles.first {
                articles.insert(article)
                try articles.move(article, before: first)
            } else {
                articles.insert(article)
            }
            for offset in 0..<(index % 3) { article.tags.insert(tags[(index - offset) % 4]) }
        }
        for index in 0..<2 { context.insert(Portrait(file: "portrait-\(index).jpg", author: authors[index])) }
        try context.commit()
    }
}
