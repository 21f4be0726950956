public import Strata

/// Work of the nodes of a fleet. The rows show whether a commit was lost, torn or applied twice.
///
/// Each commit of a node inserts a receipt with a name that no other commit has, and changes other rows in the same
/// transaction: it makes a transfer of ``Bank``, adds 1 to a quota, queues an operation, or inserts further receipts by
/// a batch. The name of the receipt is the author of the commit. The handler of an operation inserts a ``Mark`` and adds
/// 1 to another quota.
public enum FleetWork {
    /// A kind of change. Its raw value is the participant of its receipts and of its quota.
    public enum Kind: Int, CaseIterable, Codable, Sendable {
        /// A transfer between two accounts, in a block that may conflict with those of other nodes.
        case transfer
        /// An addition to the quota of this kind, in a block of `write`.
        case write
        /// A queued operation. Its handler adds to the quota of this kind.
        case job
        /// An operation that a schedule has queued. It has no receipt.
        case tick
        /// A batch, which always takes the lock of the home.
        case batch
    }

    /// The number of receipts of a batch.
    static let batchSize = 3

    public static let models: [any Model.Type] = SharedWork.models + [Mark.self]

    /// Inserts the rows that the work needs, unless they exist, and commits.
    public static func found(in context: SavingContext) throws {
        guard try context.count(Quota.all) == 0 else { return }
        for kind in Kind.allCases { context.insert(Quota(participant: kind.rawValue)) }
        try Bank.found(in: context)
    }

    /// Inserts the receipt of a commit.
    ///
    /// - Throws: ``FleetFault`` if the receipt exists. Then an earlier attempt of this commit was stored, although the
    ///   error of that attempt has said that nothing was stored.
    public static func insertReceipt(of commit: FleetCommit, in context: ObjectContext) throws {
        try begin(commit, in: context)
        context.insert(Receipt(name: commit.description, participant: commit.kind.rawValue, number: commit.number))
    }

    /// Makes the commit the author, and throws ``FleetFault`` if it is stored already.
    private static func begin(_ commit: FleetCommit, in context: ObjectContext) throws {
        let name = commit.description
        guard try !context.exists(Receipt.where { $0.name == name }) else {
            throw FleetFault(description: "'\(name)' is stored, although its commit has failed")
        }
        context.author = name
    }

    /// Inserts the receipts of a commit by a batch, which is a separate commit. The name of the first receipt is that of
    /// the commit. The others add a number to it.
    ///
    /// - Throws: as ``insertReceipt(of:in:)``.
    public static func batch(_ commit: FleetCommit, in context: SavingContext) throws {
        try begin(commit, in: context)
        let rows = (0..<batchSize).map { part in
            Receipt(
                name: part == 0 ? commit.description : "\(commit) \(part)",
                participant: commit.kind.rawValue,
                number: commit.number
            )
            .snapshot
        }
        try context.batchInsert(rows)
    }

    /// Makes a transfer with a receipt, and commits.
    public static func transfer(_ amount: Int, as commit: FleetCommit, in context: SavingContext) throws {
        try insertReceipt(of: commit, in: context)
        _ = try Bank.transfer(amount, in: context)
    }

    /// Adds to the quota of `write`, with a receipt. The caller commits.
    public static func write(_ commit: FleetCommit, in context: ObjectContext) throws {
        try insertReceipt(of: commit, in: context)
        try count(.write, in: context)
    }

    /// Records that an operation was done. The caller commits.
    public static func finish(_ operation: Int64, as kind: Kind, process: Int, in context: ObjectContext) throws {
        context.insert(Mark(operation: operation, process: process))
        try count(kind, in: context)
    }

    private static func count(_ kind: Kind, in context: ObjectContext) throws {
        let participant = kind.rawValue
        guard let quota = try context.first(Quota.where { $0.participant == participant }) else {
            throw StrataError(.damagedStore, "The fleet has no quota for \(kind).")
        }
        quota.used += 1
    }
}

/// A commit of a node of a fleet, which has the number of its kind in its process.
public struct FleetCommit: Hashable, Sendable, CustomStringConvertible {
    public let kind: FleetWork.Kind
    /// See ``FleetNodeSettings/life``.
    public let life: String
    /// Counted from 1.
    public let number: Int

    public init(_ kind: FleetWork.Kind, of life: String, _ number: Int) {
        (self.kind, self.life, self.number) = (kind, life, number)
    }

    /// Reads the name of a commit; nil for another text.
    public init?(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 3, let kind = FleetWork.Kind.allCases.first(where: { "\($0)" == words[0] }),
            let number = Int(words[2])
        else { return nil }
        self.init(kind, of: words[1], number)
    }

    /// The name of the commit's receipt.
    public var description: String { "\(kind) \(life) \(number)" }
}

/// A broken promise of the store that a node has noticed.
public struct FleetFault: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
}
