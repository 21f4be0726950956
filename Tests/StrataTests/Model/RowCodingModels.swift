import Foundation

@testable import Strata

/// Models whose rows have other forms in coders than in the store.
enum CodedModels {
    enum Plan: String, AttributeValue { case free, paid }
    enum Size: String, Codable, AttributeValue { case small, large }

    /// An unsigned number, which the store may keep as a blob.
    struct Mark: RawRepresentable, Equatable, AttributeValue { var rawValue: UInt64 }

    struct Stamp: RawRepresentable, Equatable, AttributeValue { var rawValue: Date }

    struct Place: Codable, Equatable, AttributeValue {
        var street: String
        var since: Date
    }

    /// A type that only the store can represent.
    struct Version: Equatable, AttributeValue {
        var major: Int

        static var columnType: ColumnType { .text }
        var storedValue: StoredValue { .text("v\(major)") }

        init(major: Int) { self.major = major }
        init?(storedValue: StoredValue) {
            guard case .text(let text) = storedValue, text.hasPrefix("v"), let major = Int(text.dropFirst()) else {
                return nil
            }
            self.init(major: major)
        }
    }

    struct Origin: Codable, Equatable { var country: String }

    /// A transformer that uses a separate coder.
    enum OriginText: ValueTransformer {
        static func store(_ origin: Origin) throws -> String {
            String(decoding: try JSONEncoder().encode(origin), as: UTF8.self)
        }
        static func load(_ text: String) throws -> Origin {
            try JSONDecoder().decode(Origin.self, from: Data(text.utf8))
        }
    }

    @Model final class Ticket {
        @Attribute(.notEmpty) var title: String
        var count: Int = 3
        var limit: Int? = 10
        var note: String?
        var plan: Plan = .free
        var size: Size?
        var mark: Mark?
        var stamp: Stamp?
        var version: Version?
        var place: Place?
        var date: Date?
        var tags: [String] = ["new"]
        @Attribute(.transformed(by: HexColor.self)) var color: Color = Color(red: 0, green: 0, blue: 255)
        @Attribute(.transformed(by: OriginText.self)) var origin: Origin?
        @Attribute(.externalStorage) var image: Data = Data([7])
        @Derived var label: String { "\(title)!" }
        var parent: Ticket?
        @Relationship(inverse: \Ticket.parent) var children: Many<Ticket>
        @Transient var isSelected = false
    }

    @Model final class Account {
        var userName: String
        var imageURL: URL?
        var passwordHash: String
        var isAdmin: Bool = false
        var sponsor: Account?
    }

    /// A model whose rows encode themselves in another form.
    @Model final class Word {
        var text: String
    }
}

extension CodedModels.Word.Row {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension DecodingError {
    private var parts: (kind: String, key: (any CodingKey)?, context: Context) {
        switch self {
        case .typeMismatch(_, let context): ("typeMismatch", nil, context)
        case .valueNotFound(_, let context): ("valueNotFound", nil, context)
        case .dataCorrupted(let context): ("dataCorrupted", nil, context)
        case .keyNotFound(let key, let context): ("keyNotFound", key, context)
        @unknown default: ("unknown", nil, Context(codingPath: [], debugDescription: ""))
        }
    }

    var kind: String { parts.kind }

    var message: String { parts.context.debugDescription }

    var underlying: (any Error)? { parts.context.underlyingError }

    /// The keys and indices that lead to the wrong or missing value.
    var path: String {
        let keys = parts.context.codingPath + [parts.key].compactMap(\.self)
        return keys.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
    }
}
