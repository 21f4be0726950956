public import Strata

extension FleetWork {
    /// The commits in a store, and the errors in its rows.
    public struct Audit: Sendable {
        public var commits: Set<FleetCommit> = []
        /// The number of operations of the schedule that were done.
        public var tickCount = 0
        public var faults: [String] = []

        public init() {}
    }

    /// Checks every row of a store whose queued operations have all ended.
    public static func audit(_ context: ObjectContext) throws -> Audit {
        var audit = Audit()
        let bank = try Bank.audit(context)
        audit.faults = bank.faults
        var counts = [Int](repeating: 0, count: Kind.allCases.count)
        for receipt in try context.rows(Receipt.all) {
            // The further receipts of a batch have a fourth word.
            let words = receipt.name.split(separator: " ")
            guard let commit = FleetCommit(words.prefix(3).joined(separator: " ")),
                commit.kind.rawValue == receipt.participant, commit.number == receipt.number,
                words.count == 3 || commit.kind == .batch
            else {
                audit.faults.append("the receipt '\(receipt.name)' is torn")
                continue
            }
            if words.count == 3 { audit.commits.insert(commit) }
            counts[receipt.participant] += 1
        }
        var used = [Int](repeating: 0, count: Kind.allCases.count)
        for quota in try context.rows(Quota.all) where used.indices.contains(quota.participant) {
            used[quota.participant] += quota.used
        }
        // A transfer is counted by the bank, and a batch has no other effects than its receipts.
        used[Kind.transfer.rawValue] = bank.last
        used[Kind.batch.rawValue] = batchSize * audit.commits.count { $0.kind == .batch }
        for kind in [Kind.transfer, .write, .job, .batch] where used[kind.rawValue] != counts[kind.rawValue] {
            audit.faults.append("\(kind): \(counts[kind.rawValue]) receipts, and \(used[kind.rawValue]) effects")
        }
        audit.tickCount = used[Kind.tick.rawValue]
        let marks = try context.rows(Mark.all).map(\.operation)
        if Set(marks).count != marks.count {
            audit.faults.append("\(marks.count) marks of \(Set(marks).count) operations: some have run twice")
        }
        let endCount = used[Kind.job.rawValue] + used[Kind.tick.rawValue]
        if marks.count != endCount { audit.faults.append("\(marks.count) marks, and \(endCount) operations were done") }
        return audit
    }
}
