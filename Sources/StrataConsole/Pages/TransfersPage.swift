import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// The running and waiting uploads and downloads of an account.
struct TransfersPage: ConsolePage {
    let path = "transfers"
    let title = "Transfers"
    let group: NavigationGroup? = .accounts
    let needs = StoreNeeds.accounts
    let template = PageTemplate.transfers

    /// The greatest number of uploads and of downloads that are shown.
    static let limit = 200
    /// The greatest number of queued operations that are examined. Other operations than uploads may be queued too.
    private static let greatestScan = 5000

    struct Values: Sendable {
        let choice: AccountChoice
        /// Nil if the person must choose an account.
        let table: Table?
        /// Nil if all transfers are shown.
        let note: String?
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let choice = try await AccountChoice(request, path: path)
        guard let account = choice.account else {
            return PageContent(Values(choice: choice, table: nil, note: nil))
        }
        let all = try await request.read { context in
            try AccountTransfers.all(
                in: context,
                account: account,
                limit: Self.limit,
                greatestScan: Self.greatestScan
            )
        }
        var table = Table(
            "Transfers",
            ["Direction", "State", "Node", "Sections"],
            numbers: ["Done", "Size", "Progress", "Attempts"],
            ["Started"]
        )
        for transfer in all.flatMap(\.transfers) { table.add(row(transfer, request)) }
        table.whenEmpty = "Nothing is queued for upload or marked for download."
        let isComplete = all.allSatisfy(\.isComplete)
        return PageContent(
            title: "Transfers of \(account)",
            Values(
                choice: choice,
                table: table,
                note: isComplete ? nil : "The account has further transfers. Only the first ones are shown."
            )
        )
    }

    private func row(_ transfer: TransferLine, _ request: ConsoleRequest) -> [Cell] {
        let path = transfer.path ?? "(deleted node \(transfer.node))"
        let link = transfer.path == nil ? nil : request.address(ofNode: transfer.node, of: transfer.account)
        return [
            .text(transfer.direction), .mark(transfer.state, Mark.kind(ofStatus: transfer.state)),
            .text(path, href: link), .text(transfer.sections.description), .size(transfer.bytesDone),
            .size(transfer.bytesTotal), Self.progress(transfer), .number(transfer.attempts),
            .age(of: transfer.startedAt, at: request.time),
        ]
    }

    private static func progress(_ transfer: TransferLine) -> Cell {
        var share = transfer.progress
        if let done = transfer.bytesDone, let total = transfer.bytesTotal, total > 0 {
            share = Double(done) / Double(total)
        }
        // A store may contain any number.
        guard let share, share.isFinite else { return .text("-") }
        var cell = Cell.text("\(Int((min(max(share, 0), 1) * 100).rounded())) %")
        cell.isNumber = true
        return cell
    }
}
