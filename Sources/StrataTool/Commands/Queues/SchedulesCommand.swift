import ArgumentParser
import Strata
import StrataPipeline

/// `strata schedules`.
struct SchedulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules",
        abstract: "Lists, runs and pauses schedules.",
        subcommands: [
            ScheduleListCommand.self, ScheduleRunCommand.self, SchedulePauseCommand.self, ScheduleResumeCommand.self,
        ],
        defaultSubcommand: ScheduleListCommand.self
    )
}

/// `strata schedules list`.
struct ScheduleListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the schedules with their next due time and last run."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var list: ListOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let found = try await file.readingQueues { stack in
            try await stack.background { try $0.scheduleSnapshots(runs: 1) }
        }
        try list.print(found, as: output, on: console, table: ScheduleSnapshot.table) { $0.json }
    }
}

/// `strata schedules run`.
struct ScheduleRunCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Queues an extra operation of a schedule now, also if the schedule is paused. Asks first."
    )

    @OptionGroup var change: ScheduleChange

    func run(on console: Console) async throws {
        let name = change.schedule
        let number = try await change.run("An operation of the schedule '\(name)' will be queued.", on: console) {
            context,
            _ in
            try context.runScheduleNow(name).id.rawValue
        }
        try console.reportChange {
            if change.output.json {
                try console.print(.object([("schedule", .text(name)), ("operation", .integer(number))]))
            } else {
                try console.print("Operation \(number) of the schedule '\(name)' was queued.")
            }
        }
    }
}

/// `strata schedules pause`.
struct SchedulePauseCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pauses a schedule in all processes. Asks first.",
        discussion: "Due times during the pause are left out. Operations that are already queued stay."
    )

    @OptionGroup var change: ScheduleChange

    func run(on console: Console) async throws { try await change.run(isPaused: true, on: console) }
}

/// `strata schedules resume`.
struct ScheduleResumeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Ends the pause of a schedule in all processes. Asks first."
    )

    @OptionGroup var change: ScheduleChange

    func run(on console: Console) async throws { try await change.run(isPaused: false, on: console) }
}

/// The arguments of a command that changes a schedule.
struct ScheduleChange: ParsableArguments {
    @OptionGroup var file: StoreArgument

    @Argument(help: "The name of the schedule.")
    var schedule: String

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    /// Asks, and commits a change.
    ///
    /// - Parameters:
    ///   - action: what will happen, as a sentence.
    ///   - body: changes the schedule, in the name of an operator.
    /// - Throws: ``ToolError`` for a schedule that the store does not have.
    func run<Value: Sendable>(
        _ action: String,
        on console: Console,
        _ body: @escaping @Sendable (ObjectContext, _ name: String) throws -> Value
    ) async throws -> Value {
        try await file.readingQueues { _ in }
        try await confirmation.confirm(action, on: console)
        let person = person.name
        return try await file.writingQueues(on: console) { stack in
            try await stack.write { context in
                context.author = person
                return try body(context, person)
            }
        }
    }

    /// Asks, pauses or resumes the schedule, and says so.
    ///
    /// - Throws: as ``run(_:on:_:)``.
    func run(isPaused: Bool, on console: Console) async throws {
        let (schedule, participle) = (schedule, isPaused ? "paused" : "resumed")
        try await run("The schedule '\(schedule)' will be \(participle) in all processes.", on: console) {
            context,
            person in
            if isPaused {
                try context.pauseSchedule(schedule, by: person)
            } else {
                try context.resumeSchedule(schedule, by: person)
            }
        }
        try console.reportChange {
            if output.json {
                try console.print(.object([("schedule", .text(schedule)), ("isPaused", .bool(isPaused))]))
            } else {
                try console.print("The schedule '\(schedule)' was \(participle).")
            }
        }
    }
}
