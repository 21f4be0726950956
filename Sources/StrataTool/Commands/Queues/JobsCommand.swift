import ArgumentParser
import Strata
import StrataInspection
import StrataPipeline

/// `strata jobs`: the operations of queues.
struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "Lists and changes the operations of queues.",
        subcommands: [
            JobListCommand.self, JobShowCommand.self, JobRetryCommand.self, JobSkipCommand.self, JobHoldCommand.self,
            JobReleaseCommand.self, JobPriorityCommand.self, JobDeleteCommand.self,
        ],
        defaultSubcommand: JobListCommand.self
    )
}

/// `strata jobs list`.
struct JobListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists queued operations, or finished ones.",
        discussion: """
            An operation must meet all filters. With --status, operations come in the order in which they would start; \
            in a lane, in its order; in a pipeline, lane by lane; otherwise by id. Finished operations come newest first.
            """
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var filters: JobFilterOptions

    @Flag(help: "List finished operations, as long as the store keeps them.")
    var finished = false

    @OptionGroup var list: ListOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if finished { _ = try filters.finished() } else { _ = try filters.queued() }
    }

    func run(on console: Console) async throws {
        let (limit, store, pipeline) = (list.limit + 1, file.store, filters.pipeline)
        let read: @Sendable (ObjectContext) throws -> [JobRow]
        if finished {
            let filter = try filters.finished()
            read = { try JobRow.list(filter, limit: limit, in: $0) }
        } else {
            let filter = try filters.queued()
            read = { try JobRow.list(filter, limit: limit, in: $0) }
        }
        let found = try await file.readingQueues { stack in
            try await stack.background { context in
                let rows = try read(context)
                if rows.isEmpty, let pipeline { try StoreArgument.requireQueue(pipeline, of: store, in: context) }
                return rows
            }
        }
        try list.print(found, as: output, on: console, table: JobRow.table) { .object($0.fields) }
    }
}

/// `strata jobs show`.
struct JobShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a queued or finished operation with its payload, failures, options and wait reasons.",
        discussion: "Shows the beginning of a large payload. With --json, the payload is complete."
    )

    @OptionGroup var file: StoreArgument

    @Argument(help: "The id of the operation.")
    var id: JobID

    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let (id, isJSON) = (id, output.json)
        let found = try await file.readingQueues { stack in
            try await stack.background { context in
                try id.check(in: context)
                return try JobDetails.find(id.number, isComplete: isJSON, in: context)
            }
        }
        guard let details = found else {
            throw ToolError(
                "'\(file.store)' has no operation \(id.number). It was never queued, or it was deleted, or it is "
                    + "finished for so long that its record is no longer kept."
            )
        }
        if isJSON { try console.print(details.json) } else { try console.print(details.lines) }
    }
}
