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
        let started = transfer.startedAt.map { Cell.age(of: $0, at: request.time) } ?? Cell.text("-")
        let attempts = transfer.attempts.map { Cell.number($0) } ?? Cell.text("-")
        let path = transfer.path ?? "(deleted node \(transfer.node))"
        let link = transfer.path == nil ? nil : TreePage.link(transfer.account, transfer.node, request)
        return [
            .text(transfer.direction), .mark(transfer.state, Self.mark(of: transfer.state)),
            .text(path, href: link), .text(transfer.sections.description), .size(transfer.bytesDone),
            .size(transfer.bytesTotal), Self.progress(transfer), attempts, started,
        ]
    }

    /// The kind of the mark for a state, which is the name of an operation's status, or `marked`.
    private static func mark(of state: String) -> String {
        let status = OperationStatus.allCases.first { $0.description.hasSameBytes(as: state) }
        return status.map { Mark.kind(of: $0) } ?? Mark.idle
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
