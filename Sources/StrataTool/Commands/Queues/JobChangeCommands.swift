import ArgumentParser
import Foundation
import Strata
import StrataPipeline

/// `strata jobs retry`.
struct JobRetryCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retries operations that have failed for good. Asks first.",
        discussion: "Their attempts are reset. Operations that have not failed stay as they are."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection
    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let status = selection.filters.status, !status.hasSameBytes(as: OperationStatus.failed.description) {
            throw ValidationError("Only operations with the status failed can be retried.")
        }
    }

    func run(on console: Console) async throws {
        var filter = try selection.filter()
        filter.status = .failed
        let change = JobChange(
            participle: "retried",
            condition: "Only operations that have failed for good can be retried.",
            query: filter.query
        ) { try $0.retryOperations($1) }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}

/// `strata jobs skip`.
struct JobSkipCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip",
        abstract: "Ends operations without running them. Asks first.",
        discussion: "They become finished operations with the status skipped. Operations that wait for them continue."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection

    @Flag(help: "Cancel operations that run, too. They end when their handlers have returned.")
    var cancelRunning = false

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let query = try selection.filter().query
        let policy: RunningPolicy = cancelRunning ? .cancel : .leave
        let change = JobChange(
            participle: "skipped",
            condition: "Operations that run are only skipped with --cancel-running.",
            query: cancelRunning ? query : query.notRunning
        ) { try $0.skipOperations($1, running: policy) }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}

/// `strata jobs hold`.
struct JobHoldCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Holds operations until they are released, or for some time. Asks first.",
        discussion: "A running operation is held after its attempt, unless the attempt ends it."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection
    @OptionGroup var hold: HoldOptions

    @Option(name: .customLong("for"), help: "How long, such as 15m or 2h. Without it, until the release.")
    var span: TimeSpan?

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let (name, span) = (hold.name, span)
        let change = JobChange(
            participle: "held",
            condition: "They have ended meanwhile.",
            query: try selection.filter().query
        ) { context, query in
            let date = span.map { Date(timeIntervalSinceNow: $0.seconds) } ?? .distantFuture
            return try context.holdOperations(query, name, until: date)
        }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}

/// `strata jobs release`.
struct JobReleaseCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Ends a hold of operations. Asks first.",
        discussion: """
            --name start ends the wait for a date with which an operation was queued, and --name retry the pause before \
            the next attempt.
            """
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection
    @OptionGroup var hold: HoldOptions
    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let name = hold.name
        let change = JobChange(
            participle: "released",
            condition: "Only operations with the hold '\(name)' can be released from it. --name names another hold.",
            query: try selection.filter().query.held(by: name)
        ) { try $0.releaseOperations($1, from: name) }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}

/// The hold of `strata jobs hold` and `release`.
struct HoldOptions: ParsableArguments {
    @Option(help: "The name of the hold.")
    var name = "operator"
}

/// `strata jobs set-priority`.
struct JobPriorityCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-priority",
        abstract: "Changes the priority of operations. Asks first.",
        discussion: "Of the operations that may start, those with the greatest priority start first."
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection

    @Option(parsing: .unconditional, help: "The new priority. The default of operations is 0.")
    var priority: Int

    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let priority = priority
        let query = try selection.filter().query.where { $0.priority != priority }
        let change = JobChange(
            participle: "given the priority \(priority)",
            condition: "They have this priority already.",
            query: query
        ) { try $0.setPriority(priority, of: $1) }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}

/// `strata jobs delete`.
struct JobDeleteCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes operations from their queues without a record. Asks first.",
        discussion: """
            Operations that wait for them continue. Operations that run stay: cancel them with 'strata jobs skip \
            --cancel-running'.
            """
    )

    @OptionGroup var file: StoreArgument
    @OptionGroup var selection: JobSelection
    @OptionGroup var person: OperatorOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions

    func run(on console: Console) async throws {
        let change = JobChange(
            participle: "deleted",
            condition: "Operations that run are not deleted. 'strata jobs skip --cancel-running' cancels them.",
            query: try selection.filter().query.notRunning
        ) { try $0.batchDelete($1).deleted.count }
        try await change.run(file, selection.ids, by: person.name, confirmation, output, on: console)
    }
}
