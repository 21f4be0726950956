public import Strata

extension SharedWork {
    /// The commits in a store, and the faults in it.
    public struct Audit: Sendable {
        /// The number of commits of each worker.
        public let counts: [Int]
        public var faults: [String]

        /// The number of all commits.
        public var commitCount: Int { counts.reduce(0, +) }
    }

    /// Compares the rows of a store with each other and with its history.
    ///
    /// A commit of which only a part is in the store is a fault, and so is a row of a commit that has failed.
    public static func audit(_ stack: ContextStack) async throws -> Audit {
        let history = try await stack.history(limit: .max)
        return try await stack.on(.root) { context in
            let rows = try (0..<participantCount).map { try ParticipantRows($0, in: context) }
            var faults = rows.flatMap(\.faults)
            faults += HistoryAudit(rows).faults(in: history)
            return Audit(counts: rows.prefix(workerCount).map(\.receipts.count), faults: faults)
        }
    }
}

/// The rows of a participant as they are in the store.
private struct ParticipantRows {
    let participant: Int
    let accounts: [Account.Row]
    let quotas: [Quota.Row]
    /// In the order of their numbers.
    let receipts: [Receipt.Row]

    init(_ participant: Int, in context: ObjectContext) throws {
        self.participant = participant
        let names = SharedWork.names(of: participant)
        accounts = try context.rows(Account.where { $0.name.in(names) }.sorted { $0.name.ascending })
        quotas = try context.rows(Quota.where { $0.participant == participant })
        receipts = try context.rows(Receipt.where { $0.participant == participant }.sorted { $0.number.ascending })
    }

    var faults: [String] {
        // A participant that is not a worker has no commits.
        let count = participant < SharedWork.workerCount ? receipts.count : 0
        let (balances, numbers) = (accounts.map(\.balance), receipts.map(\.number))
        let (used, allowed) = (quotas.map(\.used), quotas.map(\.allowed))
        if balances == [-count, count], used == [count], allowed == [SharedWork.allowed],
            numbers == Array(1..<count + 1)
        {
            return []
        }
        return [
            "participant \(participant) has the balances \(balances), has used \(used) of \(allowed), and has the "
                + "receipts \(numbers)"
        ]
    }
}

/// Compares the history of a store with its rows.
private struct HistoryAudit {
    private let rows: [ParticipantRows]
    private let receipts: [String: Receipt.Row]

    init(_ rows: [ParticipantRows]) {
        self.rows = rows
        receipts = Dictionary(rows.flatMap(\.receipts).map { ($0.name, $0) }) { first, _ in first }
    }

    /// The faults in a history whose first entry is the opening of the accounts.
    func faults(in history: [ChangeSet]) -> [String] {
        var faults: [String] = []
        let numbers = history.map(\.token.sequence)
        if numbers != history.indices.map({ Int64($0) + 1 }) { faults.append("the history has the numbers \(numbers)") }
        if history.count != receipts.count + 1 {
            faults.append("the history has \(history.count) entries, and there are \(receipts.count) receipts")
        }
        // The number of the last commit of each participant.
        var last = [Int](repeating: 0, count: rows.count)
        for changes in history.dropFirst() {
            guard let receipt = changes.author.flatMap({ receipts[$0] }) else {
                faults.append("the history has a commit by \(changes.author ?? "nobody")")
                continue
            }
            if !agrees(changes, receipt) || receipt.number != last[receipt.participant] + 1 {
                faults.append("entry \(changes.token) of the history disagrees with the rows of '\(receipt.name)'")
            }
            last[receipt.participant] = receipt.number
        }
        return faults
    }

    /// Whether an entry names the rows that the commit with this receipt has changed, and no others.
    private func agrees(_ changes: ChangeSet, _ receipt: Receipt.Row) -> Bool {
        let own = rows[receipt.participant]
        let (accounts, quotas) = (changes.of(Account.self), changes.of(Quota.self))
        let inserted = changes.of(Receipt.self).inserted.map(\.rawValue)
        return changes.tables == ["Account", "Quota", "Receipt"]
            && accounts.updated.map(\.rawValue) == own.accounts.map(\.id.rawValue).sorted()
            && accounts.inserted.isEmpty && accounts.deleted.isEmpty
            && quotas.updated.map(\.rawValue) == own.quotas.map(\.id.rawValue)
            && quotas.inserted.isEmpty && quotas.deleted.isEmpty
            && inserted == [receipt.id.rawValue]
    }
}
