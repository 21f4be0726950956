import Foundation
import Strata

// The models that most tests of behaviour share.

@Model final class Author {
    var name: String
    var fee: Double?
    @Relationship(deleteRule: .cascade, inverse: \Article.author) var articles: Many<Article>

    static let expensive = Author.where { $0.fee > 2 }
    static let named = Author.sorted { $0.name.ascending }
}

@Model(.unique("title", "body"))
final class Article {
    @Attribute(.unique) var slug: String?
    var title: String
    var body: String = ""
    var views: Int = 0
    var length: Int?
    var published: Bool = false
    var publishedAt: Date?
    var author: Author?
    @Relationship(deleteRule: .cascade, inverse: \Citation.article) var citations: Many<Citation>

    static let published = Article.where { $0.published == true }.sorted { $0.title.ascending }
    static let viewed = Article.where { $0.views > 0 }
}

@Model final class Citation {
    var journal: String
    var article: Article?
}

@Model final class Writer {
    @Attribute(.notEmpty, .length(1...40)) var name: String
    @Attribute(.range(0...1000)) var fee: Double = 0
    @Relationship(inverse: \Spouse.writers, ordered: true) var spouses: Many<Spouse>

    static func validate(_ row: Row, _ failures: inout Validation<Writer>) {
        failures.require(row.name != "nobody", "must be somebody", column: \.name)
        failures.require(row.fee != 13, "must not ask for 13")
    }

    static let clashing = Writer.where { $0.fee > 10 }
}

@Model final class Spouse {
    var name: String
    var writers: Many<Writer>

    static let clashing = Spouse.where { $0.name.hasPrefix("z") }
}

@Model final class Timestamp {
    var label: String = ""
    @Attribute(.createdAt) var createdAt: Date?
    @Attribute(.updatedAt) var updatedAt: Date?
}

@Model final class Discussion {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Message.discussion) var messages: Many<Message>
}

@Model final class Message {
    var content: String
    var discussion: Discussion?
}

@Model final class Publisher {
    var name: String
    @Relationship(deleteRule: .deny, inverse: \Contract.publisher) var contracts: Many<Contract>
}

@Model final class Contract {
    var title: String
    var publisher: Publisher?
    @Relationship(inverse: \Seal.contract) var seal: Seal?
}

@Model final class Seal {
    var color: String
    var contract: Contract?
}

let allModels: [any Model.Type] = [
    Author.self, Article.self, Citation.self, Writer.self, Spouse.self, Timestamp.self, Discussion.self, Message.self,
    Publisher.self, Contract.self, Seal.self,
]

extension ContextName {
    static let network: ContextName = "network"
    static let other: ContextName = "other"
}

/// A stack on a separate store in memory.
func openStack(_ setUp: StackSetUp = .standard, mergePolicy: MergePolicy = .error) async throws -> ContextStack {
    try await ContextStack.open(.inMemory, models: allModels, stack: setUp, mergePolicy: mergePolicy)
}
