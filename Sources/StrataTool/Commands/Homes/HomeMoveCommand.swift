#if Postgres
    import ArgumentParser
    import Foundation
    import Strata
    import StrataPostgres

    /// `strata home move`.
    struct HomeMoveCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "move",
            abstract: "Moves a store to a new home. Asks first.",
            discussion: """
                All rows become the first contents of the home, in one transaction. The file then becomes a working copy of \
                the home, and the ids of objects stay valid. No program may have the store open. If the command is \
                killed, run it again.
                """
        )

        @OptionGroup var file: StoreArgument
        @OptionGroup var argument: HomeArgument
        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var output: OutputOptions

        func run(on console: Console) async throws {
            let record = try await file.reading { try await $0.storeRecord() }
            let home = try argument.home()
            defer { home.close() }
            let newest = record.newest.map { "up to commit \($0.sequence)" } ?? "without a commit"
            try await confirmation.confirm(
                "The store '\(file.store)', \(newest), will be moved to \(home.name). The file will become a working copy, "
                    + "which programs can then open only with this home. Make a backup before, if you need the store.",
                on: console
            )
            let report = try HomeMove(of: URL(fileURLWithPath: file.store), to: home).run()
            try console.reportChange {
                if output.json { return try console.print(json(report, of: home)) }
                let end = report.wasStored ? " An earlier move had stored all rows." : ""
                try console.print(
                    "\(home.name) has the \(report.rowCount) rows of \(file.store), which is now a working copy.\(end)"
                )
            }
            if report.hasLineage {
                console.note(
                    "The store was copied from another file once. Other nodes do not recognise ids from before that copy, "
                        + "for example in links."
                )
            }
        }

        private func json(_ report: HomeMove.Report, of home: PostgresHome) -> JSON {
            .object([
                ("home", .text(home.name)), ("file", .text(file.store)), ("rowCount", .count(report.rowCount)),
                ("position", .integer(report.position.number)), ("wasStored", .bool(report.wasStored)),
            ])
        }
    }
#endif
