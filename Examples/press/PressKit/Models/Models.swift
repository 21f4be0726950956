import Foundation
import Strata

/// A model whose objects are edited with `If-Match`.
///
/// The version is part of the entity tag. Every edit raises it with ``revise()``, in the block that compares it.
protocol Versioned: Model {
    var version: Int { get set }
    var snapshot: Row { get }
}

extension Versioned {
    /// Counts an edit.
    func revise() { version += 1 }
}

extension AttributeOption {
    /// A text whose UTF-8 has at most `limit` bytes. A limit of characters alone is not enough, because a character may
    /// have any number of combining marks.
    static func bytes(_ limit: Int) -> AttributeOption {
        check("must have at most \(limit) bytes") { value in
            guard case .text(let text) = value else { return true }
            return text.utf8.count <= limit
        }
    }
}

/// A person who writes articles.
@Model final class Author: Versioned {
    @Attribute(.notEmpty, .length(1...120), .bytes(480)) var name: String
    @Attribute(.unique, .check("must be an address such as ada@example.com") { MailAddress.isValid($0) })
    var email: String
    var version: Int = 1
    @Relationship(deleteRule: .deny, inverse: \Article.author) var articles: Many<Article>

    static let byName = Author.all.sorted { [$0.name.ascending, $0.id.ascending] }
}

/// An article. It is a draft until it has a date of publication.
@Model(.search(.stems)) final class Article: Versioned {
    @Attribute(.notEmpty, .length(1...200), .bytes(800), .searchable(weight: 4)) var title: String
    @Attribute(.length(0...100_000), .bytes(400_000), .searchable) var body: String
    @Attribute(.indexed) var publishedAt: Date?
    var version: Int = 1
    @Relationship(.required) var author: Author?
    @Relationship(deleteRule: .cascade, inverse: \Comment.article) var comments: Many<Comment>
    @Relationship(deleteRule: .cascade, inverse: \Picture.article) var pictures: Many<Picture>
    @Relationship(deleteRule: .cascade, inverse: \ArticleRequest.article) var requests: Many<ArticleRequest>

    static let published = Article.where { $0.publishedAt != nil }
    /// With the id as the second key, the index has exactly this order.
    static let newest = Article.published.sorted { [$0.publishedAt.descending, $0.id.descending] }
}

/// A request that has added an article. A client that got no answer sends the request again, perhaps to another node,
/// and gets the same article.
@Model final class ArticleRequest: Model {
    /// The header `Idempotency-Key` of the request.
    @Attribute(.unique, .notEmpty, .bytes(200)) var key: String
    /// The digest of the article as the client has sent it; nil for requests that an earlier version has stored.
    var digest: Data?
    @Relationship(.required) var article: Article?
}

/// A reader's comment on an article.
@Model(.index("article", "writtenAt")) final class Comment: Versioned {
    @Attribute(.notEmpty, .length(1...120), .bytes(480)) var name: String
    @Attribute(.notEmpty, .length(1...4000), .bytes(16_000)) var text: String
    var writtenAt: Date
    var version: Int = 1
    @Relationship(.required) var article: Article?
}

/// How far a picture has come.
enum PictureState: String, AttributeValue {
    /// The file is stored, and its preview is not made yet.
    case received
    /// The preview is there.
    case ready
    /// The file is not a complete picture.
    case unreadable
}

/// The stand-in for a thumbnail: the size of the picture, from the header of its file.
struct PicturePreview: Codable, Equatable, Sendable, AttributeValue {
    var width: Int
    var height: Int
}

/// A picture of an article. Its bytes are a file of the folder of pictures, and a node of the account.
@Model final class Picture: Versioned {
    /// The name of the file.
    @Attribute(.unique) var file: String
    /// The size of the file, in bytes.
    var size: Int
    var type: String
    var state: PictureState = .received
    var preview: PicturePreview?
    /// The time at which the account has uploaded the file.
    var mirroredAt: Date?
    var version: Int = 1
    @Relationship(.required) var article: Article?
}

/// The bytes of a picture, in a store that several nodes share. Each node makes a file of them when it needs one.
@Model final class PictureContent: Model {
    /// The name of the file.
    @Attribute(.unique) var file: String
    @Attribute(.externalStorage) var bytes: Data
}

/// A person who gets each article by mail.
@Model final class Subscriber: Model {
    @Attribute(.unique, .check("must be an address such as ada@example.com") { MailAddress.isValid($0) })
    var email: String
}

/// The form of mail addresses.
enum MailAddress {
    /// Whether a stored text may be an address. The check keeps spaces and line breaks out of the headers of mails. Only a
    /// mail proves that an address exists.
    static func isValid(_ value: StoredValue) -> Bool {
        guard case .text(let text) = value, text.utf8.count <= 254 else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (0x21...0x7E).contains($0) } }
    }

    /// The part after the last `@`, in small letters.
    static func domain(of address: String) -> String {
        address.split(separator: "@").last.map { $0.lowercased() } ?? ""
    }
}
