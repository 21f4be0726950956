import ArgumentParser

/// The root of the tool. Add each new command to a group here.
struct StrataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "strata",
        abstract: "Looks into stores of Strata, and maintains them.",
        discussion: """
            The commands need no code of the program that wrote a store, and work while programs have it open.

            Exit status: 0 for success, 1 for a failure or a finding, 64 for wrong arguments, 130 if interrupted.
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Stores",
                subcommands: [
                    InspectCommand.self, SQLCommand.self, HistoryCommand.self, CheckCommand.self, BackupCommand.self,
                    CompactCommand.self, ExportCommand.self, ImportCommand.self, PlanCommand.self, TopCommand.self,
                    ServeCommand.self,
                ]
            ),
            CommandGroup(
                name: "Queues",
                subcommands: [
                    QueuesCommand.self, JobsCommand.self, PauseCommand.self, ResumeCommand.self, LimitsCommand.self,
                    SchedulesCommand.self,
                ]
            ),
            CommandGroup(name: "Accounts", subcommands: [TreeCommand.self, TransfersCommand.self]),
        ] + homes
    )

    /// The commands of stores with a home, which need libpq.
    private static var homes: [CommandGroup] {
        #if Postgres
            return [CommandGroup(name: "Homes", subcommands: [HomeCommand.self])]
        #else
            return []
        #endif
    }
}

/// A command of the tool.
///
/// A command parses its arguments into properties, and does its work in ``run(on:)``. It writes only to the console, so
/// that tests can read the output.
protocol ToolCommand: AsyncParsableCommand {
    /// Does the work of the command.
    ///
    /// - Throws: ``ToolError``, an error of a product, or `ExitCode` for a status without a message. ``Tool`` reports
    ///   the error on the console.
    func run(on console: Console) async throws
}

extension ToolCommand {
    func run() async throws { try await run(on: .standard) }
}
