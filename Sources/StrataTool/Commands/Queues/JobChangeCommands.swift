import ArgumentParser
import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// `strata jobs retry`.
struct JobRetryCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retries operations that have failed for good. Asks first.",
        discussion: "Their attempts are reset. Operations that have not failed stay as they are."
    )

    @OptionGroup var change: JobChange

    func validate() throws {
        if let status = change.selection.filters.status, !status.hasSameBytes(as: OperationStatus.failed.description) {
            throw ValidationError("Only operations with the status failed can be retried.")
        }
    }

    func run(on console: Console) async throws {
        var filter = try change.selection.filter()
        filter.status = .failed
        try await change.run(
            "retried",
            filter.query,
            condition: "Only operations that have failed for good can be retried.",
            on: console
        ) { try $0.retryOperations($1) }
    }
}

/// `strata jobs skip`.
struct JobSkipCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip",
        abstract: "Ends operations without running them. Asks first.",
        discussion: "They become finished operations with the status skipped. Operations that wait for them continue."
    )

    @OptionGroup var change: JobChange

    @Flag(help: "Cancel operations that run, too. They end when their handlers have returned.")
    var cancelRunning = false

    func run(on console: Console) async throws {
        let query = try change.selection.filter().query
        let policy: RunningPolicy = cancelRunning ? .cancel : .leave
        try await change.run(
            "skipped",
            cancelRunning ? query : query.notRunning,
            condition: "Operations that run are only skipped with --cancel-running.",
            warnsOfAccounts: true,
            on: console
        ) { try $0.skipOperations($1, running: policy) }
    }
}

/// `strata jobs hold`.
struct JobHoldCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Holds operations until they are released, or for some time. Asks first.",
        discussion: """
            A running operation is held after its attempt, unless the attempt ends it. A worker gives an operation \
            with a hold the status held when it next looks at it. 'strata jobs show' lists the hold at once.
            """
    )

    @OptionGroup var change: JobChange
    @OptionGroup var hold: HoldOptions

    @Option(name: .customLong("for"), help: "How long, such as 15m or 2h. Without it, until the release.")
    var span: TimeSpan?

    func run(on console: Console) async throws {
        let (name, span) = (hold.name, span)
        let count = try await change.run(
            "held",
            change.selection.filter().query,
            condition: "They have ended meanwhile.",
            on: console
        ) { context, query in
            let date = span.map { Date(timeIntervalSinceNow: $0.seconds) } ?? .distantFuture
            return try context.holdOperations(query, name, until: date)
        }
        if count > 0 {
            console.note(
                "Workers set the status 'held' when they next look at the operations. Until then, 'strata queues' and "
                    + "--status held do not count them, and 'strata jobs show' lists the hold."
            )
        }
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

    @OptionGroup var change: JobChange
    @OptionGroup var hold: HoldOptions

    func run(on console: Console) async throws {
        let name = hold.name
        try await change.run(
            "released",
            change.selection.filter().query.held(by: name),
            condition: "Only operations with the hold '\(name)' can be released from it. --name names another hold.",
            on: console
        ) { try $0.releaseOperations($1, from: name) }
    }
}

/// The hold of `strata jobs hold` and `release`.
struct HoldOptions: ParsableArguments {
    @Option(help: "The name of the hold.")
    var name = "operator"

    func validate() throws {
        if name.utf8.isEmpty { throw ValidationError("The name of the hold is empty. Name it with --name.") }
    }
}

/// `strata jobs set-priority`.
struct JobPriorityCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-priority",
        abstract: "Changes the priority of operations. Asks first.",
        discussion: "Of the operations that may start, those with the greatest priority start first."
    )

    @OptionGroup var change: JobChange

    @Option(parsing: .unconditional, help: "The new priority. The default of operations is 0.")
    var priority: Int

    func run(on console: Console) async throws {
        let priority = priority
        let query = try change.selection.filter().query.where { $0.priority != priority }
        try await change.run(
            "given the priority \(priority)",
            query,
            condition: "They have this priority already.",
            on: console
        ) { try $0.setPriority(priority, of: $1) }
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

    @OptionGroup var change: JobChange

    func run(on console: Console) async throws {
        try await change.run(
            "deleted",
            change.selection.filter().query.notRunning,
            condition: "Operations that run are not deleted. 'strata jobs skip --cancel-running' cancels them.",
            warnsOfAccounts: true,
            on: console
        ) { try $0.batchDelete($1).deleted.count }
    }
}
