public import Strata

/// The number of units that a participant of ``SharedWork`` has used, and the number that it may use.
@Model public final class Quota {
    public var participant: Int
    public var used: Int = 0
    public var allowed: Int = SharedWork.allowed

    public static func validate(_ row: Row, _ failures: inout Validation<Quota>) {
        failures.require(row.used <= row.allowed, "must not use more than is allowed")
    }
}

/// A row that names a commit of ``SharedWork``.
@Model public final class Receipt {
    @Attribute(.unique) public var name: String
    public var participant: Int
    public var number: Int
}

/// Work of several contexts that commit at the same time, so that their commits share transactions.
///
/// Each participant has two accounts and a quota. A commit of a worker moves one unit from its left account to its
/// right one, counts the unit in the quota, and inserts a receipt. If the four rows disagree, only a part of a commit
/// was written. The other participants make commits that fail: see ``Failure``.
public enum SharedWork {
    public static let models: [any Model.Type] = Bank.models + [Quota.self, Receipt.self]
    public static let workerCount = 8
    /// The workers, and one participant for each kind of failure.
    public static let participantCount = workerCount + Failure.allCases.count
    /// The number of units that each participant may use.
    public static let allowed = 1_000_000_000

    /// Opens the accounts of all participants.
    public static func found(in context: SavingContext) throws {
        for participant in 0..<participantCount {
            for name in names(of: participant) { context.insert(Account(name: name, balance: 0)) }
            context.insert(Quota(participant: participant))
        }
        try context.commit()
    }

    /// Makes the changes of a worker's next commit, and returns the number of that commit. The caller commits.
    public static func prepare(_ worker: Int, in context: ObjectContext) throws -> Int {
        let books = try Books(of: worker, in: context)
        let number = books.quota.used + 1
        books.set(number)
        let name = receipt(number, of: worker)
        context.insert(Receipt(name: name, participant: worker, number: number))
        context.author = name
        return number
    }

    /// The name of a worker's commit, which is also its author in the history.
    static func receipt(_ number: Int, of worker: Int) -> String { "\(worker) \(number)" }

    /// The names of a participant's accounts, in alphabetical order.
    static func names(of participant: Int) -> [String] { ["left \(participant)", "right \(participant)"] }
}

/// The accounts and the quota of a participant of ``SharedWork``, in one context.
struct Books {
    let left: Account
    let right: Account
    let quota: Quota

    init(of participant: Int, in context: ObjectContext) throws {
        let names = SharedWork.names(of: participant)
        let accounts = try context.fetch(Account.where { $0.name.in(names) }.sorted { $0.name.ascending })
        let quota = try context.first(Quota.where { $0.participant == participant })
        guard let quota, accounts.count == 2 else {
            throw StrataError(.damagedStore, "Participant \(participant) has no accounts or no quota.")
        }
        left = accounts[0]
        right = accounts[1]
        self.quota = quota
    }

    /// Changes the rows as a participant's commit with this number does.
    func set(_ number: Int) {
        left.balance = -number
        right.balance = number
        quota.used = number
    }
}
