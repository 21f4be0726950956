import Strata
import StrataCloud
import StrataPipeline

/// The accounts of the store, with the work that is left for each.
struct AccountsPage: ConsolePage {
    let path = "accounts"
    let title = "Accounts"
    let group: NavigationGroup? = .accounts
    let needs = StoreNeeds.accounts
    let template = PageTemplate.accounts

    static let pageSize = 50

    struct Values: Sendable {
        let table: Table
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let after = try request.query.number("after") ?? 0
        let found = try await request.read { context in
            try context.accountListings(after: after, limit: Self.pageSize + 1)
        }
        var table = Table(
            "Accounts",
            ["Account", "Remote", "Encrypted"],
            numbers: ["Queued", "Running", "Failed", "Held", "Conflicts"],
            ["State", "Created", "Work"]
        )
        let shown = found.prefix(Self.pageSize)
        for account in shown { table.add(row(account, request)) }
        table.whenEmpty = after > 0 ? "The store has no further accounts." : "The store has no accounts."
        let last = found.count > Self.pageSize ? shown.last?.id : nil
        table.pager = Pager(
            first: after > 0 ? request.link("accounts") : nil,
            next: last.flatMap { request.link("accounts", ["after": "\($0)"]) }
        )
        return PageContent(Values(table: table))
    }

    private func row(_ account: AccountListing, _ request: ConsoleRequest) -> [Cell] {
        let (name, counts) = (account.account, account.operations)
        let failed = counts[.failed] ?? 0
        var conflicts = Cell.number(account.conflictCount)
        if account.conflictCount > 0 {
            let isLimited = account.conflictCount >= AccountListing.countedConflicts
            conflicts = Cell.mark("\(account.conflictCount)\(isLimited ? "+" : "")", Mark.warning, isNumber: true)
            conflicts.href = request.link("conflicts", ["account": name])
        }
        let isThere = !account.isBeingRemoved
        let state = isThere ? Cell.mark("set up", Mark.good) : Cell.mark("being removed", Mark.warning)
        let failures = failed > 0 ? Cell.mark("\(failed)", Mark.bad, isNumber: true) : Cell.number(0)
        let total = counts.values.reduce(0, +)
        let (running, held) = (counts[.active] ?? 0, counts[.held] ?? 0)
        let tree = isThere ? request.link("tree", ["account": name]) : nil
        let transfers = isThere ? request.link("transfers", ["account": name]) : nil
        return [
            .text(name, href: tree), .text(account.remote), .text(account.isEncrypted ? "yes" : "no"),
            .number(total), .number(running), failures, .number(held), conflicts, state, .time(account.createdAt),
            .text("transfers", href: transfers),
        ]
    }
}
