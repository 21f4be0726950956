import Foundation
import GRDB

/// An author, as a Codable record.
struct Author: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "author"

    var id: Int64?
    var name: String
    var email: String
    var version = 1

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// An article, as a Codable record. Its JSON is the answer to a request, as in press.
struct Article: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "article"

    var id: Int64?
    var title: String
    var body: String
    var publishedAt: Date?
    var version = 1
    var author: Int64

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    // Numbers are read and compared faster than the texts that GRDB stores otherwise.
    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
        .timeIntervalSince1970
    }

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .timeIntervalSince1970
    }
}

/// An article in a list, without its body.
struct ArticleItem: Codable, FetchableRecord, TableRecord, Sendable {
    static let databaseTableName = "article"
    static var databaseSelection: [any SQLSelectable] {
        [Column("id"), Column("title"), Column("publishedAt"), Column("version"), Column("author")]
    }

    var id: Int64
    var title: String
    var publishedAt: Date?
    var version: Int
    var author: Int64

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .timeIntervalSince1970
    }
}

/// An article that a search has found.
struct FoundArticle: Decodable, FetchableRecord, Sendable {
    var id: Int64
    var title: String
    var score: Double
    /// A part of the body. Each match begins with U+0001 and ends with U+0002.
    var snippet: String
}

/// The position after an article in the list of the newest articles.
struct PageToken: Sendable {
    let publishedAt: Double
    let id: Int64

    init?(after item: ArticleItem) {
        guard let date = item.publishedAt else { return nil }
        publishedAt = date.timeIntervalSince1970
        id = item.id
    }

    init?(_ text: String) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, let bits = UInt64(parts[0], radix: 16), let id = Int64(parts[1]) else { return nil }
        publishedAt = Double(bitPattern: bits)
        self.id = id
    }

    var text: String { "\(String(publishedAt.bitPattern, radix: 16))-\(id)" }
}
