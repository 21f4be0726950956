import ArgumentParser
import Strata
import StrataPipeline

/// `strata queues`: the queues of a store.
struct QueuesCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "queues",
        abstract: "Lists pipelines and queues with the number of their operations, pauses and limits.",
        discussion: "Counts the entries of an index, and reads no operation except the oldest ones."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var list: ListOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let limit = list.limit
        let found = try await file.readingQueues { stack in
            try await stack.background { try $0.queueSummaries(limit: limit + 1) }
        }
        try list.print(found, as: output, on: console, table: QueueSummary.table) { $0.json }
    }
}
