import Strata
import StrataCloud

/// The unresolved conflicts of an account.
struct ConflictsPage: ConsolePage {
    let path = "conflicts"
    let title = "Conflicts"
    let group: NavigationGroup? = .accounts
    let needs = StoreNeeds.accounts
    let template = PageTemplate.conflicts

    static let pageSize = 50

    struct Values: Sendable {
        let choice: AccountChoice
        /// Nil if the person must choose an account.
        let table: Table?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let choice = try await AccountChoice(request, path: path)
        guard let account = choice.account else { return PageContent(Values(choice: choice, table: nil)) }
        let after = try request.query.number("after") ?? 0
        let found = try await request.read { context in
            try context.cloud(accountID: account).conflictListings(after: after, limit: Self.pageSize + 1)
        }
        var table = Table(
            "Conflicts",
            ["Node", "Sections", "Known version", "Version at the remote"],
            numbers: ["Size at the remote"],
            ["Found"]
        )
        let shown = found.prefix(Self.pageSize)
        for conflict in shown {
            let link = conflict.path == nil ? nil : request.address(ofNode: conflict.node, of: account)
            table.add([
                .text(conflict.path?.description ?? "(deleted node \(conflict.node))", href: link),
                .text(conflict.sections.description), .text(conflict.knownETag ?? "none"),
                .text(conflict.remoteETag ?? "deleted"), .size(conflict.remoteSize), .time(conflict.foundAt),
            ])
        }
        table.whenEmpty = after > 0 ? "The account has no further conflicts." : "The account has no conflicts."
        let last = found.count > Self.pageSize ? shown.last?.id : nil
        table.pager = Pager(
            first: after > 0 ? request.link("conflicts", ["account": account]) : nil,
            next: last.flatMap { request.link("conflicts", ["account": account, "after": "\($0)"]) }
        )
        return PageContent(title: "Conflicts of \(account)", Values(choice: choice, table: table))
    }
}
