import ArgumentParser
import Foundation
import Strata
import StrataInspection

/// `strata backup`: a copy of a store.
struct BackupCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the committed state of a store into a file, while other processes write.",
        discussion: "The copy gets its name when it is complete and on the disk."
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The file of the copy. Its folder must exist.", completion: .file())
    var destination: String

    @Flag(help: "Replace the destination if it exists.")
    var replace = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if destination.utf8.isEmpty { throw ValidationError("The name of the copy is empty. Name a file.") }
    }

    func run(on console: Console) async throws {
        let record = try await file.reading { try await $0.storeRecord() }
        var info = stat()
        let exists = lstat(destination, &info) == 0
        if exists {
            guard replace else { throw ToolError("'\(destination)' exists. Name another file, or pass --replace.") }
            try await confirmation.confirm(
                "'\(destination)' will be replaced by a copy of '\(file.store)'.",
                on: console
            )
        }
        // The rules of queues free the copy from the processes that work on the original. A file that was created since
        // the question is not replaced.
        do {
            try await file.reading(models: record.queueModels) { stack in
                try await stack.backup(to: URL(fileURLWithPath: destination), replacing: exists)
            }
        } catch let error as StrataError where error.message.contains("replacing: true") {
            throw ToolError(
                "cannotOpen: '\(destination)' was created meanwhile. Name another file, or pass --replace."
            )
        }
        try console.reportChange {
            if output.json {
                try console.print(.object([("file", .text(destination))]))
            } else {
                try console.print("\(destination) is a copy of \(file.store).")
            }
        }
    }
}
