import Foundation
public import Strata

// A small bank. If its books do not balance after a commit, data was lost. The tests share the bank with the process
// that they kill.

/// An account. The sum of all balances never changes.
@Model public final class Account {
    @Attribute(.unique) public var name: String
    public var balance: Int
    public var note: String = ""
    @Relationship(inverse: \Leg.account) public var legs: Many<Leg>
}

/// A payment from one account to another. It has a leg for each, with opposite amounts.
@Model public final class Transfer {
    @Attribute(.unique) public var position: Int
    @Relationship(deleteRule: .cascade, inverse: \Leg.transfer) public var legs: Many<Leg>
}

@Model public final class Leg {
    public var amount: Int
    public var transfer: Transfer?
    public var account: Account?
}

/// The number of transfers that were ever made.
@Model public final class Counter {
    public var last: Int = 0
}

public enum Bank {
    public static let models: [any Model.Type] = [Account.self, Transfer.self, Leg.self, Counter.self]
    public static let accountCount = 6
    public static let openingBalance = 1000
    /// The number of transfers that are kept. Older ones are deleted.
    public static let keptTransfers = 10

    /// Opens the accounts, unless they exist.
    public static func found(in context: SavingContext) throws {
        guard try context.count(Account.all) == 0 else { return }
        for index in 0..<accountCount {
            context.insert(Account(name: "account \(index)", balance: openingBalance))
        }
        context.insert(Counter())
        try context.commit()
    }

    /// Makes the next transfer, deletes the oldest one, and commits. Returns the new ids, the transfer's first.
    public static func transfer(_ amount: Int, in context: SavingContext) throws -> (position: Int, ids: [Int64]) {
        let accounts = try context.fetch(Account.sorted { $0.name.ascending })
        guard let counter = try context.first(Counter.all), accounts.count == accountCount else {
            throw StrataError(.damagedStore, "The bank is not founded.")
        }
        counter.last += 1
        let (from, to) = (accounts[counter.last % accountCount], accounts[(counter.last * 5 + 2) % accountCount])
        let transfer = context.insert(Transfer(position: counter.last))
        var ids = [transfer.id.rawValue]
        for (account, sign) in [(from, -1), (to, 1)] {
            account.balance += sign * amount
            ids.append(context.insert(Leg(amount: sign * amount, transfer: transfer, account: account)).id.rawValue)
        }
        let oldest = counter.last - keptTransfers
        for old in try context.fetch(Transfer.where { $0.position <= oldest }) { context.delete(old) }
        try context.commit()
        return (counter.last, ids)
    }
}
