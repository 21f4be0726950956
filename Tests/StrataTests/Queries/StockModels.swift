import Foundation
import Strata
import TestHomeTraits

// The models of random queries: attributes of all kinds, and every kind of relationship.

enum StockFlavor: String, AttributeValue { case sweet, sour, bitter }

struct StockSpot: Codable, Equatable, AttributeValue {
    var aisle: Int
    var label: String
}

@Model final class StockItem {
    var name: String
    var note: String?
    @Attribute(.indexed) var rank: Int = 0
    var size: Int?
    var small: Int8?
    var weight: Double = 0
    var ratio: Double?
    var cost: Decimal = 0
    var price: Decimal?
    var total: UInt64 = 0
    var extra: UInt64?
    var madeAt: Date?
    var key: UUID?
    var bytes: Data = Data()
    var thumb: Data?
    var isDone: Bool = false
    var isLiked: Bool?
    var flavor: StockFlavor = .sweet
    var mood: StockFlavor?
    var spot: StockSpot?
    var shelf: StockShelf?
    @Relationship(inverse: \StockLid.item) var lid: StockLid?
    @Relationship(inverse: \StockTag.items, ordered: true) var tags: Many<StockTag>
}

@Model final class StockShelf {
    var title: String
    var floor: Int?
    var house: StockHouse?
    @Relationship(inverse: \StockItem.shelf) var items: Many<StockItem>
}

@Model final class StockHouse {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \StockShelf.house, ordered: true) var shelves: Many<StockShelf>
}

@Model final class StockLid {
    var color: String
    var item: StockItem?
}

@Model final class StockTag {
    var name: String?
    var items: Many<StockItem>
}

let stockModels: [any Model.Type] = [
    StockItem.self, StockShelf.self, StockHouse.self, StockLid.self, StockTag.self,
]

/// The pools from which random values come. They are small, so that queries find something, and contain the awkward
/// values.
enum StockValues {
    static let texts = [
        "", "a", "A", "b", "ab", "Ab", "abc", "é", "e\u{301}", "E\u{301}", "élan", "ß", "SS", "a\u{0}b".storable,
        "\u{0}".storable, "👩‍👩‍👧",
        "👩", "z%_", "\\",
        "\"'", "a\nb", "日本",
    ]
    static let integers = [-3, -1, 0, 1, 2, 3, 7, 1_000_000_007]
    static let smalls: [Int8] = [-128, -1, 0, 1, 127]
    /// Multiples of a power of two, so that sums are the same in any order.
    static let reals = [-2.5, -1, 0, 0.25, 0.5, 1, 3, 1024.125]
    static let decimals: [Decimal] = [
        "-10", "-0.5", "0", "0.1", "0.10000000000000000001", "1", "2.5", "10", "9", "100",
    ]
    .map { Decimal(string: $0)! }
    static let unsigned: [UInt64] = [0, 1, 2, 5, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 3, .max]
    static let dates = [-1.5, 0, 0.25, 86_400, 700_000_000].map { Date(timeIntervalSinceReferenceDate: $0) }
    static let keys = (0..<4).map { UUID(uuid: (0, 0, 0, UInt8($0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(255 - $0))) }
    static let bytes = [Data(), Data([0]), Data([0, 1]), Data([255]), Data([104, 105])]
    static let flavors: [StockFlavor] = [.sweet, .sour, .bitter]
    static let spots = [
        StockSpot(aisle: 1, label: ""), StockSpot(aisle: 2, label: "é\""), StockSpot(aisle: 2, label: "x"),
    ]
}
