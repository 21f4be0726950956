import Strata
import StrataCloud

/// The account that a page about one account shows.
struct AccountChoice: Sendable {
    /// The account that the query names, or the only one of the store; nil if the person must choose.
    let account: String?
    /// The links to the page for each account, if the person must choose.
    let links: [TitledLink]
    /// Whether the store has no accounts.
    let isEmpty: Bool

    /// The greatest number of accounts to choose from.
    private static let limit = 100

    /// Finds the account that the query names, or lists the accounts of the store.
    ///
    /// - Parameter path: the path of the page.
    init(_ request: ConsoleRequest, path: String) async throws {
        if let name = request.query.filled("account") {
            (account, links, isEmpty) = (name, [], false)
            return
        }
        let ids = try await request.read { context in try context.accountIDs(limit: Self.limit) }
        isEmpty = ids.isEmpty
        account = ids.count == 1 ? ids.first : nil
        links =
            ids.count > 1
            ? ids.compactMap { TitledLink($0, request.link(path, ["account": $0])) } : []
    }
}
