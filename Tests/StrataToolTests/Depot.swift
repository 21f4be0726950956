import Foundation
import StoreModels
import Strata

/// A store with attributes and relationships of all kinds that lines of JSON distinguish.
enum Depot {
    enum Kind: String, AttributeValue { case small, large }
    enum Level: Int, AttributeValue {
        case low = 1
        case high = 5
    }
    struct Moment: RawRepresentable, Equatable, AttributeValue { var rawValue: Date }
    struct Address: Codable, Equatable, AttributeValue {
        var street: String
        var number: Int
    }
    struct Secret: Sendable, Equatable { var text: String }

    enum ReversedText: ValueTransformer {
        static func store(_ secret: Secret) throws -> String { String(secret.text.reversed()) }
        static func load(_ text: String) throws -> Secret { Secret(text: String(text.reversed())) }
    }

    @Model final class Room {
        var name: String
        @Relationship(inverse: \Shelf.room, ordered: true) var shelves: Many<Shelf>
    }

    @Model(table: "shelves") final class Shelf {
        @Attribute(.unique) var name: String
        var isOpen: Bool = true
        var count: Int = 7
        var total: UInt64 = 0
        var weight: Double = 0
        var builtAt: Date?
        var seenAt: Moment?
        var code: UUID?
        var link: URL?
        var price: Decimal?
        var bytes: Data?
        var kind: Kind = Kind.small
        var level: Level?
        var address: Address?
        var marks: [String] = []
        @Attribute(.externalStorage) var photo: Data?
        @Attribute(.transformed(by: ReversedText.self)) var secret: Secret?
        @Attribute(.createdAt) var createdAt: Date?
        @Derived var label: String { "\(name)!" }
        var room: Room?
        @Relationship(inverse: \Tag.shelves) var tags: Many<Tag>
        @Relationship(inverse: \Tag.ranking, ordered: true) var ranked: Many<Tag>
    }

    @Model final class Tag {
        @Attribute(.unique) var name: String
        var shelves: Many<Shelf>
        @Relationship(ordered: true) var ranking: Many<Shelf>
    }

    static let models: [any Model.Type] = [Room.self, Shelf.self, Tag.self]

    static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly)
    }

    /// Creates the store, and closes it.
    static func make(in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("depot.sqlite")
        let stack = try await open(url)
        try await stack.background { context in
            let room = context.insert(Room(name: "cellar"))
            let shelves = ["a", "b", "c"].map { context.insert(Shelf(name: $0)) }
            for shelf in shelves.reversed() { room.shelves.insert(shelf) }
            let full = shelves[0]
            full.isOpen = false
            full.count = -3
            full.total = .max
            full.weight = -.infinity
            full.builtAt = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
            full.seenAt = Moment(rawValue: Date(timeIntervalSinceReferenceDate: 12.5))
            full.code = UUID()
            full.link = URL(string: "https://example.com/a?b=c")
            full.price = Decimal(string: "12345678901234567890.12")
            full.bytes = Data([0, 255, 1])
            full.photo = Data(repeating: 9, count: 5000)
            full.kind = .large
            full.level = .high
            full.address = Address(street: "Mill Lane \u{202E}\u{7F}", number: 3)
            full.marks = ["x", "ü"]
            full.secret = Secret(text: "open sesame")
            shelves[1].weight = 0.1
            let tags = ["t", "u", "v"].map { context.insert(Tag(name: $0)) }
            for tag in [tags[2], tags[0]] { full.tags.insert(tag) }
            for tag in [tags[1], tags[2], tags[0]] { full.ranked.insert(tag) }
            for shelf in [shelves[2], shelves[1]] { tags[0].ranking.insert(shelf) }
            try context.commit()
        }
        try await stack.close()
        return url
    }
}
