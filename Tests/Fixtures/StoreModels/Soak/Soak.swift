public import Foundation
public import Strata

/// The store of soak runs. Several processes work on it at random for a long time. The conditions that ``audit`` checks
/// hold after any of their commits.
public enum Soak {
    /// An account. The sum of all balances never changes, and each balance is the result of the account's payments.
    @Model public final class Account {
        @Attribute(.unique) public var name: String
        public var balance: Int
        /// The sum of the payments that were deleted since.
        public var settled: Int = 0
        /// A new value for each change of the balance. Two processes that set the same balance would not conflict
        /// otherwise.
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
        /// The seed of ``photo``, or 0 without a photo. No two photos have the same seed.
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

    /// The stage of the run. It is the only object of its model.
    @Model public final class Stage {
        public var number: Int = Soak.working
    }

    public static let models: [any Model.Type] = [
        Account.self, Payment.self, Keeper.self, Shelf.self, Item.self, Tag.self, Note.self, List.self, Stage.self,
    ]

    /// The history reaches its size limit after some thousand commits. Until then the store grows, and so does the
    /// memory that the connections of a process keep for it.
    public static let configuration = StoreConfiguration(
        synchronous: .normal,
        busyTimeout: 30,
        history: .limited(size: 1 << 20)
    )

    // The numbers of the stages.
    public static let working = 0
    /// Each process finishes its work, and reports that.
    public static let resting = 1
    /// No process works any more, and each process checks the final state.
    public static let ending = 2

    public static let accountCount = 8
    public static let openingBalance = 1000
    /// The maximum number of items. It keeps a run of an hour similar to one of a minute.
    public static let itemLimit = 150

    /// The errors that simultaneous work may cause.
    public static let expected: Set<StrataError.Code> = [
        .conflict, .busy, .notUnique, .deleteDenied, .missingReference,
    ]
    public static let policies: [MergePolicy] = [
        .error, .mine, .theirs, .custom { $0.id % 2 == 0 ? .mine : .theirs },
    ]

    static func title(_ label: String, _ kind: Kind) -> String { "\(kind.rawValue) \(label)" }

    /// The bytes of a photo: a few, or more than fit onto a page.
    public static func photo(_ seed: Int) -> Data? {
        guard seed > 0 else { return nil }
        return Data("\(seed):".utf8) + Data(repeating: UInt8(seed % 251), count: seed % 9000)
    }

    /// Makes the initial objects.
    public static func found(in context: SavingContext) throws {
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
