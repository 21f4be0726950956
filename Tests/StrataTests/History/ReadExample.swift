import Strata
import Testing

/// A block, a change of what it reads, and its values before and after.
struct ReadExample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let values: [String]
    let read: @Sendable (ObjectContext) throws -> String
    let change: @Sendable (SavingContext) throws -> Void

    static let all = [
        sum, batch, groups, sqlOfModel, sqlOfTable, toOne, toMany, manyToMany, relatedCondition, objectByID,
    ]

    private static let sum = ReadExample(testDescription: "a sum", values: ["1", "3"]) { context in
        try context.sum(Article.all, \.views).description
    } change: { context in
        context.insert(Article(title: "u", views: 2))
    }

    private static let batch = ReadExample(testDescription: "a sum, changed by a batch", values: ["1", "9"]) {
        context in
        try context.sum(Article.all, \.views).description
    } change: { context in
        try context.batchUpdate(Article.all) { $0.views.set(to: 9) }
    }

    private static let groups = ReadExample(testDescription: "groups", values: ["a 1", "- 1, a 1"]) { context in
        let groups = try context.groups(Article.grouped { $0.author.name }) { ($0.count, $0.sum(\.views)) }
        return groups.map { "\($0.key ?? "-") \($0.values.0)" }.joined(separator: ", ")
    } change: { context in
        context.insert(Article(title: "u"))
    }

    private static let sqlOfModel = ReadExample(testDescription: "SQL of a model", values: ["1", "2"]) { context in
        try context.values(Int.self, "SELECT count(*) FROM \(Article.self)")[0].description
    } change: { context in
        context.insert(Article(title: "u"))
    }

    private static let sqlOfTable = ReadExample(testDescription: "SQL of a table", values: ["1", "2"]) { context in
        try context.values(Int.self, "SELECT count(*) FROM article")[0].description
    } change: { context in
        context.insert(Article(title: "u"))
    }

    private static let toOne = ReadExample(testDescription: "a to-one relationship", values: ["a", "b"]) { context in
        try context.first(Article.all)?.author?.name ?? "-"
    } change: { context in
        try #require(try context.first(Author.all)).name = "b"
    }

    private static let toMany = ReadExample(testDescription: "a to-many relationship", values: ["t", "t u"]) {
        context in
        let author = try #require(try context.first(Author.all))
        return try author.articles.fetch().map(\.title).sorted().joined(separator: " ")
    } change: { context in
        let author = try #require(try context.first(Author.all))
        context.insert(Article(title: "u", author: author))
    }

    private static let manyToMany = ReadExample(testDescription: "many to many", values: ["", "z"]) { context in
        let writer = try #require(try context.first(Writer.all))
        return try writer.spouses.fetch().map(\.name).joined(separator: " ")
    } change: { context in
        // Only the table of the relationship changes.
        let spouse = try #require(try context.first(Spouse.all))
        try #require(try context.first(Writer.all)).spouses.insert(spouse)
    }

    private static let relatedCondition = ReadExample(testDescription: "a condition", values: ["0", "1"]) { context in
        try context.count(Article.where { $0.author.name == "b" }).description
    } change: { context in
        try #require(try context.first(Author.all)).name = "b"
    }

    private static let objectByID = ReadExample(testDescription: "an object by its id", values: ["z", "y"]) { context in
        let id = try #require(try context.ids(Spouse.all).first)
        return try context.find(id)?.name ?? "-"
    } change: { context in
        try #require(try context.first(Spouse.all)).name = "y"
    }
}
