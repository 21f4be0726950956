import ArgumentParser
import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// `strata transfers`: the running and waiting uploads and downloads.
struct TransfersCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfers",
        abstract: "Shows the running and waiting uploads and downloads.",
        discussion: """
            An upload has the state of its operation: 'active' while it runs. A download is 'marked' until it has \
            arrived. A store does not record which downloads run. It records the bytes of uploads in parts that have \
            arrived, and not those of other transfers.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(help: "The id of an account. By default, the transfers of all accounts are shown.")
    var account: String?

    @Option(help: "The greatest number of uploads and of downloads of each account.")
    var limit = 100

    @OptionGroup var output: OutputOptions

    func validate() throws { try ListOptions.check(limit) }

    func run(on console: Console) async throws {
        let (account, limit) = (account, limit)
        let transfers = try await file.readingAccounts { stack in
            try await stack.background { context in
                try AccountTransfers.all(in: context, account: account, limit: limit)
            }
        }
        if output.json {
            for transfer in transfers.flatMap(\.transfers) { try console.print(transfer.json) }
        } else {
            try console.print(TransferLine.table(of: transfers.flatMap(\.transfers)).lines)
        }
        if !transfers.allSatisfy(\.isComplete) {
            console.note(
                "Only the first \(limit) uploads and downloads of an account are shown. Pass a greater --limit."
            )
        }
    }
}
