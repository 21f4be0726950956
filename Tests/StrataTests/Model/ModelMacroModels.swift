import Foundation
import Strata

/// The models of ``ModelMacroTests``, nested so that other suites can have models with the same names.
enum MacroModels {
    @Model(.unique("title", "author"), .index("views"), table: "articles") final class Article {
        @Attribute(.unique, .length(1...40), originalName: "handle") var slug: String
        var title: String = ""
        var views: Int = 0
        var publishedAt: Date?
        var author: Author?
        var status: Status?
        var mood: Status = .draft
        @Relationship(deleteRule: .cascade, inverse: \Comment.article, ordered: true) var comments: Many<Comment>
        @Relationship(inverse: \MacroModels.Cover.article) var cover: Cover?
        @Transient var cache: [String: Int] = [:]
        var shout: String { title.uppercased() }
        static let limit = 3

        enum Status: String, AttributeValue { case draft, published }

        convenience init(draft slug: String) {
            self.init(slug: slug, status: .draft)
        }
    }

    @Model final class Author {
        @Attribute(.notEmpty, .check("must not be x") { $0 != .text("x") }) var name: String
        @Relationship(deleteRule: .cascade, inverse: \Article.author) var articles: Many<Article>
    }

    @Model final class Comment {
        var text: String
        @Relationship(.required, .indexed, deleteRule: .cascade) var article: Article?
    }

    @Model final class Cover {
        @Attribute(.unique) var article: Article?
    }

    /// Every type that an attribute can have.
    @Model final class Everything {
        var int: Int
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var uint: UInt
        var uint8: UInt8
        var uint16: UInt16
        var uint32: UInt32
        var uint64: UInt64
        var double: Double
        var float: Float
        var bool: Bool
        var string: String
        var data: Data
        var date: Date
        var uuid: UUID
        var url: URL
        var decimal: Decimal
        var level: Level
        var address: Address
        var tags: [String]
        var scores: [String: Int]
        var optionalInt: Int?
        var optionalUInt8: UInt8?
        var optionalDouble: Double?
        var optionalBool: Bool?
        var optionalString: Swift.String?
        var optionalData: Foundation.Data?
        var optionalDate: Optional<Date>
        var optionalUUID: UUID?
        var optionalURL: URL?
        var optionalDecimal: Decimal?
        var optionalLevel: Level?
        var optionalAddress: Address?
        var optionalTags: [String]?
        var parent: Everything?
    }

    enum Level: Int, AttributeValue { case low, high }
    struct Address: Codable, Equatable, AttributeValue { var street: String }

    /// Names that generated code uses itself, and keywords.
    @Model final class Awkward {
        var reader: String = "r"
        var binder: String = "b"
        var encoder: String = "e"
        var decoder: String?
        var column: Int = 1
        var value: Int = 2
        var other: Double?
        var stored: Address?
        var newValue: Level = .low
        var owner: Awkward?
        var `default`: Level?
        var `class`: Awkward?
        var `in_`: String = "quoted \"text\""
        @Relationship(inverse: \Awkward.class) var `switch`: Awkward?
    }
}

/// A stack with these models on a separate store.
func openMacroModels(at location: StoreLocation = .inMemory) async throws -> ContextStack {
    let models: [any Model.Type] = [
        MacroModels.Article.self, MacroModels.Author.self, MacroModels.Comment.self, MacroModels.Cover.self,
        MacroModels.Everything.self, MacroModels.Awkward.self,
    ]
    return try await ContextStack.open(location, models: models)
}
