import ArgumentParser
import Strata
import StrataInspection
import StrataPipeline

/// `strata pause`.
struct PauseCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pauses a pipeline or queue in all processes, also after restarts. Asks first.",
        discussion: "Running operations continue."
    )

    @OptionGroup var change: SettingsChange

    func run(on console: Console) async throws {
        try await change.run("will be paused in all processes", "was paused", on: console) { $0.isPaused = true }
    }
}

/// `strata resume`.
struct ResumeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Ends the pause of a pipeline or queue in all processes. Asks first."
    )

    @OptionGroup var change: SettingsChange

    func run(on console: Console) async throws {
        try await change.run("will be resumed in all processes", "was resumed", on: console) { $0.isPaused = false }
    }
}

/// `strata limits`.
struct LimitsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "Shows and changes the limits of pipelines.",
        subcommands: [LimitShowCommand.self, LimitSetCommand.self, LimitResetCommand.self],
        defaultSubcommand: LimitShowCommand.self
    )
}

/// `strata limits show`.
struct LimitShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows the limits in effect, those that programs declare, and the last changes by operators."
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The pipeline or queue. Without it, all pipelines.")
    var pipeline: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let (pipeline, store) = (pipeline, file.store)
        let found: [PipelineSettings] = try await file.readingQueues { stack in
            try await stack.background { context in
                if let pipeline {
                    try StoreArgument.requireQueue(pipeline, of: store, in: context)
                    return [try context.pipelineSettings(of: PipelineName(pipeline))]
                }
                return try context.allPipelineSettings()
            }
        }
        try list.print(found, as: output, on: console, table: PipelineSettings.table) { $0.json }
    }
}

/// `strata limits set`.
struct LimitSetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Changes limits of a pipeline in all processes, also after restarts. Asks first.",
        discussion: "The new limit overrides the one that the program declares, until it is reset."
    )

    @OptionGroup var change: SettingsChange

    @Option(
        help: ArgumentHelp(
            "How many operations may run at once in each process: a number, or none for any number.",
            valueName: "count"
        )
    )
    var maxConcurrent: ConcurrencyLimit?

    @Option(
        help: ArgumentHelp(
            "How many attempts may start in an interval in all processes together, such as 10/1m, or none.",
            valueName: "count/time"
        )
    )
    var rateLimit: RateLimitValue?

    func validate() throws {
        if maxConcurrent == nil, rateLimit == nil { throw ValidationError("Pass --max-concurrent or --rate-limit.") }
    }

    func run(on console: Console) async throws {
        let (maxConcurrent, rateLimit) = (maxConcurrent, rateLimit)
        try await change.run("will get new limits in all processes", "has new limits", on: console) { update in
            if let maxConcurrent { update.maxConcurrent = maxConcurrent.count }
            if let rateLimit { update.rateLimit = rateLimit.limit }
        }
    }
}

/// `strata limits reset`.
struct LimitResetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Removes the operators' limits of a pipeline, so that the program's apply again. Asks first.",
        discussion: "A pause stays."
    )

    @OptionGroup var change: SettingsChange

    func run(on console: Console) async throws {
        try await change.run("will get the limits that its program declares", "has its declared limits", on: console) {
            $0.reset(.maxConcurrent)
            $0.reset(.rateLimit)
        }
    }
}

/// The arguments of a command that changes the settings of a pipeline.
struct SettingsChange: ParsableArguments {
    @OptionGroup var file: StoreArgument

    @Argument(help: "The pipeline or queue.")
    var pipeline: String

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    /// Asks, changes the settings, and says so.
    ///
    /// - Parameters:
    ///   - future: what will happen, after the name of the pipeline.
    ///   - past: the result, after the name of the pipeline.
    /// - Throws: ``ToolError`` for a name that no process has used; `PipelineError` for a limit out of its bounds.
    func run(
        _ future: String,
        _ past: String,
        on console: Console,
        _ change: @escaping @Sendable (inout PipelineSettingsUpdate) throws -> Void
    ) async throws {
        let (queue, store) = (pipeline, file.store)
        // Also refuses a store without queues, before the question.
        try await file.readingQueues { stack in
            try await stack.background { try StoreArgument.requireQueue(queue, of: store, in: $0) }
        }
        try await confirmation.confirm("'\(pipeline)' of '\(file.store)' \(future).", on: console)
        let (name, person) = (PipelineName(pipeline), person.name)
        let settings = try await file.writingQueues(on: console) { stack in
            try await stack.updatePipelineSettings(of: name, by: person, change)
        }
        try console.reportChange {
            if output.json { try console.print(settings.json) } else { try console.print("'\(pipeline)' \(past).") }
        }
    }
}
