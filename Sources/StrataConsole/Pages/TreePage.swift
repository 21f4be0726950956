import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// A node of an account's tree and its children, with the work that is left for each.
struct TreePage: ConsolePage {
    let path = "tree"
    let title = "Tree"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.accounts
    let template = PageTemplate.tree

    static let pageSize = 100
    /// The greatest number of folders above the node that are shown.
    private static let greatestDepth = 50

    struct Values: Sendable {
        let choice: AccountChoice
        /// Nil if the person must choose an account.
        let folder: Folder?
    }

    struct Folder: Sendable {
        let trunks: [TitledLink]
        let ancestors: [TitledLink]
        let facts: Facts
        let children: Table
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let choice = try await AccountChoice(request, path: path)
        guard let account = choice.account else { return PageContent(Values(choice: choice, folder: nil)) }
        let number = try request.query.number("node", upTo: ConsoleFields.greatestID)
        let after = request.query.filled("after")
        let listing = try await request.read { context in
            try context.cloud(accountID: account).folderListing(of: number, after: after, limit: Self.pageSize)
        }
        let folder = Folder(
            trunks: listing.trunks.compactMap { TitledLink($0.name, request.address(ofNode: $0.id, of: account)) },
            ancestors: listing.ancestors.suffix(Self.greatestDepth)
                .compactMap { TitledLink($0.name, request.address(ofNode: $0.id, of: account)) },
            facts: facts(listing.node, account),
            children: table(listing, account, after: after, request)
        )
        return PageContent(
            title: "\(account): \(ViewText.line(listing.node.path.description))",
            Values(choice: choice, folder: folder)
        )
    }

    private func table(
        _ listing: FolderListing,
        _ account: String,
        after: String?,
        _ request: ConsoleRequest
    ) -> Table {
        var table = Table(
            "Nodes",
            ["Name"],
            numbers: ["Size"],
            ["Version", "At the remote", "Queued", "Download", "Conflict"]
        )
        for entry in listing.children {
            let name = (entry.path.name ?? "") + (entry.isFolder ? "/" : "")
            let conflicts = request.link("conflicts", ["account": account])
            table.add([
                .text(name, href: request.address(ofNode: entry.id, of: account)), .size(entry.size),
                .text(entry.eTag ?? "-"),
                Self.remote(entry), Self.operations(entry), Self.download(entry),
                Self.conflict(entry, href: conflicts),
            ])
        }
        if !listing.node.isFolder {
            table.whenEmpty = "The node is a file."
        } else {
            table.whenEmpty = after == nil ? "The folder is empty." : "The folder has no further nodes."
        }
        let id = listing.node.id
        table.pager = Pager(
            first: after == nil ? nil : request.address(ofNode: id, of: account),
            next: listing.next.flatMap { request.address(ofNode: id, of: account, after: $0) }
        )
        return table
    }

    private func facts(_ node: TreeListing.Entry, _ account: String) -> Facts {
        var facts = Facts()
        facts.add("Account", .text(account))
        facts.add("Path", .text(node.path.description, to: ViewText.factLength))
        facts.add("Node", .number(node.id))
        facts.add("Kind", .text(node.isFolder ? "folder" : "file"))
        facts.add("At the remote", Self.remote(node))
        facts.add("Size", .size(node.size))
        facts.add("Version", .text(node.eTag ?? "-"))
        facts.add("Written", .time(node.modifiedAt))
        facts.add("Queued", Self.operations(node))
        facts.add("Download", Self.download(node))
        facts.add("Conflict", Self.conflict(node, href: nil))
        return facts
    }

    private static func remote(_ node: TreeListing.Entry) -> Cell {
        node.isAtRemote ? .mark("yes", Mark.good) : .mark("not known", Mark.idle)
    }

    /// The queued operations. Uploads, moves and deletes are such operations.
    private static func operations(_ node: TreeListing.Entry) -> Cell {
        let counts = node.operations.sorted { $0.key.rawValue < $1.key.rawValue }
        guard !counts.isEmpty else { return .text("-") }
        let order: [OperationStatus] = [.failed, .held, .active]
        let worst = order.first { (node.operations[$0] ?? 0) > 0 } ?? .pending
        let text = counts.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return .mark(text, Mark.kind(of: worst))
    }

    private static func download(_ node: TreeListing.Entry) -> Cell {
        node.marked.isEmpty ? .text("-") : .mark(node.marked.description, Mark.active)
    }

    private static func conflict(_ node: TreeListing.Entry, href: String?) -> Cell {
        guard let sections = node.conflict else { return .text("-") }
        var cell = Cell.mark(sections.isEmpty ? "yes" : sections.description, Mark.warning)
        cell.href = href
        return cell
    }

}
