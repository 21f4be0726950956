public import Strata

extension Bank {
    /// The contents of the books, and the errors in them.
    public struct Audit: Sendable {
        public var last = 0
        /// The ids of transfers and legs, by the position of the transfer.
        public var ids: [Int: [Int64]] = [:]
        public var faults: [String] = []
    }

    /// Checks every row, with queries of a context.
    public static func audit(_ context: ObjectContext) throws -> Audit {
        var audit = Audit()
        let counters = try context.fetch(Counter.all)
        audit.last = counters.first?.last ?? 0
        if counters.count != 1 { audit.faults.append("\(counters.count) counters") }
        let accounts = try context.fetch(Account.all)
        if accounts.count != accountCount { audit.faults.append("\(accounts.count) accounts") }
        let total = accounts.reduce(0) { $0 + $1.balance }
        if total != accountCount * openingBalance { audit.faults.append("the balances sum up to \(total)") }

        let transfers = try context.fetch(Transfer.sorted { $0.position.ascending })
        let expected = Array(max(1, audit.last - keptTransfers + 1)..<(audit.last + 1))
        if transfers.map(\.position) != expected {
            audit.faults.append("transfers \(transfers.map(\.position)) where the counter says \(audit.last)")
        }
        for transfer in transfers {
            let legs = try transfer.legs.fetch()
            if legs.count != 2 || legs.reduce(0, { $0 + $1.amount }) != 0 || legs.contains(where: { $0.account == nil })
            {
                audit.faults.append("transfer \(transfer.position) has legs \(legs.map(\.amount))")
            }
            audit.ids[transfer.position] = [transfer.id.rawValue] + legs.map { $0.id.rawValue }
        }
        let legCount = try context.count(Leg.all)
        if legCount != 2 * transfers.count { audit.faults.append("\(legCount) legs of \(transfers.count) transfers") }
        return audit
    }
}
