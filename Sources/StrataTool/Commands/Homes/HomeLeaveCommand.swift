#if Postgres
    import ArgumentParser
    import Foundation
    import Strata
    import StrataInspection
    import StrataPostgres

    /// `strata home leave`.
    struct HomeLeaveCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "leave",
            abstract: "Writes a store without a home, with all commits that the home has now. Asks first.",
            discussion: """
                The working copy and the home stay as they are, and the ids of objects stay valid. Stop all nodes before if \
                the file replaces the home: their later commits are not in the file.
                """
        )

        @OptionGroup var file: StoreArgument

        @Argument(help: "The file to write. It must not exist, but its folder must.", completion: .file())
        var destination: String

        @OptionGroup var argument: HomeArgument
        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if destination.utf8.isEmpty { throw ValidationError("The name of the new file is empty. Name a file.") }
        }

        func run(on console: Console) async throws {
            let record = try await file.reading { try await $0.storeRecord() }
            var info = stat()
            if lstat(destination, &info) == 0 { throw fileExists }
            let home = try argument.home()
            defer { home.close() }
            // Opening a home without a store would create one.
            try home.requireStore()
            try await confirmation.confirm(
                "'\(destination)' will be a store without a home, with all commits that \(home.name) has now. "
                    + "'\(file.store)' and the home stay as they are. Later commits of nodes will not be in the new file.",
                on: console
            )
            let position: HomePosition
            do {
                position = try await file.reading(models: record.queueModels) { stack in
                    try await stack.leave(home, to: URL(fileURLWithPath: destination))
                }
            } catch let error as StrataError where error.reason == .fileExists {
                throw fileExists
            } catch let error as StrataError
                where [.homeBehind, .homeExpired, .damagedStore].contains(error.code)
            {
                throw ToolError(
                    "\(error.code): '\(file.store)' does not continue to the state of \(home.name). Open it once with its "
                        + "program, which makes it again, or let the program make a working copy under another name. "
                        + "\(error.message)"
                )
            }
            try console.reportChange {
                if output.json {
                    try console.print(
                        .object([
                            ("file", .text(destination)), ("home", .text(home.name)),
                            ("position", .integer(position.number)),
                        ])
                    )
                } else {
                    try console.print(
                        "\(destination) is a store without a home, with transaction \(position.number) of \(home.name)."
                    )
                }
            }
        }

        private var fileExists: ToolError {
            ToolError("cannotOpen: '\(destination)' exists, and was left as it is. Name a file that does not exist.")
        }
    }
#endif
