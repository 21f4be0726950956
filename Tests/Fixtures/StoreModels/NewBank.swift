import Foundation
public import Strata

/// The bank's next version. Its stores are migrated from those of ``Bank``: the migration copies the accounts.
public enum NewBank {
    @Model(originalName: "Account") public final class Customer {
        @Attribute(.unique, originalName: "name") public var fullName: String
        public var balance: Double
        public var note: String?
        public var region: String = "north"
        @Relationship(inverse: \Leg.customer) public var legs: Many<Leg>
    }

    @Model public final class Transfer {
        @Attribute(.unique) public var position: Int
        @Relationship(deleteRule: .cascade, inverse: \Leg.transfer) public var legs: Many<Leg>
    }

    @Model public final class Leg {
        public var amount: Int
        public var transfer: Transfer?
        @Attribute(originalName: "account") public var customer: Customer?
    }

    @Model public final class Counter {
        public var last: Int = 0
    }

    public static let models: [any Model.Type] = [Customer.self, Transfer.self, Leg.self, Counter.self]

    /// A migration with a step that counts its runs in the only counter.
    public static let migration = Migration(version: 1).step("count") { database in
        try database.execute("UPDATE Counter SET last = last + 100")
    }
}
