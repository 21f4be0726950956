import ArgumentParser
import Strata

/// `strata compact`: returns free pages to the file system.
struct CompactCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Returns the free pages of a store to the file system.",
        discussion: "Other processes write between its short transactions. Asks first."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let pages = try await file.reading { try await $0.freePages() }
        try await confirmation.confirm(
            "The free pages of '\(file.store)' (\(pages.size) bytes) will be returned to the file system."
                + (pages.inPortions
                    ? "" : " The whole file will be written again. Until then, other processes cannot commit."),
            on: console
        )
        let bytes = try await file.writing { try await $0.compact() }
        try console.reportChange {
            if output.json {
                try console.print(.object([("bytes", .count(bytes))]))
            } else {
                try console.print("\(bytes) bytes were returned to the file system.")
            }
        }
    }
}
