public import Foundation
public import Strata

/// A world for soak runs: several processes work on it at random for a long time, and whatever they do, what ``audit`` asks
/// for holds.
public enum Soak {
    /// All balances together are always the same, and each is what its payments come to.
    @Model public final class Account {
        @Attribute(.unique) public var name: String
        public var balance: Int
        /// What payments that were deleted since had come to.
        public var settled: Int = 0
        /// Set anew by everybody who changes the balance: two who come to the same balance are not in conflict.
        public var stamp: UUID?
        @Relationship(inverse: \Payment.account) public var payments: Many<Payment>
    }

    @Model public final class Payment {
        public var amount: Int
        public var account: Account?
    }

    @Model public final class Keeper {
        @Attribute(.unique) public var name: String
        @Relationship(deleteRule: .deny, inverse: \Shelf.keeper) public var shelves: Many<Shelf>
    }

    @Model public final class Shelf {
        @Attribute(.notEmpty) public var title: String
        public var keeper: Keeper?
        @Relationship(deleteRule: .cascade, inverse: \Item.shelf, ordered: true) public var items: Many<Item>
    }

    public enum Kind: String, AttributeValue, CaseIterable { case tool, toy, book }

    @Model public final class Item {
        @Attribute(.unique) public var label: String
        @Attribute(.range(0...9999), .indexed) public var value: Int
        public var weight: Double?
        public var kind: Kind = .tool
        /// What ``photo`` is made of; 0 where there is none. Never the same for two photos.
        public var photoSeed: Int = 0
        @Attribute(.externalStorage) public var photo: Data?
        @Attribute(.updatedAt) public var changedAt: Date?
        public var shelf: Shelf?
        @Relationship(inverse: \Tag.items) public var tags: Many<Tag>
        @Relationship(inverse: \Note.item) public var note: Note?
        public var lists: Many<List>

        @Derived(.indexed) public var title: String { Soak.title(label, kind) }
    }

    @Model public final class Tag {
        @Attribute(.unique) public var name: String
        public var rank: Int = 0
        public var items: Many<Item>
    }

    @Model public final class Note {
        public var text: String
        public var item: Item?
    }

    @Model public final class List {
        public var name: String
        @Relationship(inverse: \Item.lists, ordered: true) public var items: Many<Item>
    }

    /// How far the run has come; the only object of its kind.
    @Model public final class Stage {
        public var number: Int = Soak.working

        static let newest = Stage.all
    }

    public static let models: [any Model.Type] = [
        Account.self, Payment.self, Keeper.self, Shelf.self, Item.self, Tag.self, Note.self, List.self, Stage.self,
    ]

    /// The history comes to its limit after some thousand commits. Until then the store grows, and with it what the connections of a
    /// process keep of it in memory.
    public static let configuration = StoreConfiguration(
        synchronous: .normal,
        busyTimeout: 30,
        history: .limited(size: 1 << 20)
    )

    // The numbers of the stages.
    public static let working = 0
    /// Everybody finishes what they are at, and says so.
    public static let resting = 1
    /// Nobody works any more, and everybody looks whether all is as it must be.
    public static let ending = 2

    public static let accountCount = 8
    public static let openingBalance = 1000
    /// More are not made, so that a run of an hour looks like one of a minute.
    public static let itemLimit = 150

    /// What work beside others may come to.
    public static let expected: Set<StrataError.Code> = [
        .conflict, .busy, .notUnique, .deleteDenied, .missingReference,
    ]
    public static let policies: [MergePolicy] = [
        .error, .mine, .theirs, .custom { $0.number % 2 == 0 ? .mine : .theirs },
    ]

    static func title(_ label: String, _ kind: Kind) -> String { "\(kind.rawValue) \(label)" }

    /// The bytes of a photo: a few, or more than fit onto a page.
    public static func photo(_ seed: Int) -> Data? {
        guard seed > 0 else { return nil }
        return Data("\(seed):".utf8) + Data(repeating: UInt8(seed % 251), count: seed % 9000)
    }

    /// Makes what is there from the beginning.
    public static func found(in context: ObjectContext) throws {
        for index in 0..<accountCount {
            context.insert(Account(name: "account \(index)", balance: openingBalance))
        }
        for index in 0..<4 {
            let keeper = context.insert(Keeper(name: "keeper \(index)"))
            let shelf = context.insert(Shelf(title: "shelf \(index)", keeper: keeper))
            for number in 0..<5 { shelf.items.insert(Item(label: "first \(index) \(number)", value: number)) }
            context.insert(Tag(name: "tag \(index)"))
            context.insert(List(name: "list \(index)"))
        }
        context.insert(Stage())
        try context.commit()
    }
}
