import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// A change of queued operations. The raw value is a part of addresses.
enum OperationChange: String, Sendable, CaseIterable {
    case retry
    case skip
    case hold
    case release
    case setPriority = "set-priority"
    case delete

    /// The text of its button.
    var title: String {
        switch self {
        case .retry: "Retry"
        case .skip: "Skip"
        case .hold: "Hold"
        case .release: "Release"
        case .setPriority: "Set priority"
        case .delete: "Delete"
        }
    }

    /// The change as a participle.
    private func participle(_ options: OperationChangeOptions) -> String {
        switch self {
        case .retry: "retried"
        case .skip: "skipped"
        case .hold: "held"
        case .release: "released from '\(ViewText.line(options.hold))'"
        case .setPriority: "given the priority \(options.priority ?? 0)"
        case .delete: "deleted"
        }
    }

    /// What the change does, as sentences.
    var explanation: String {
        switch self {
        case .retry: "Their attempts are reset. Only operations that have failed for good can be retried."
        case .skip: "They end without running, and operations that wait for them continue."
        case .hold: "They do not start until the hold ends. A running operation is held after its attempt."
        case .release: "Operations without a hold of this name stay as they are."
        case .setPriority: "Of the operations that may start, those with the greatest priority start first."
        case .delete: "They leave their queues without a record. Operations that run stay: skip them instead."
        }
    }

    /// Why the change may leave an operation as it is, as a sentence.
    private func condition(_ options: OperationChangeOptions) -> String {
        switch self {
        case .retry: "Only operations that have failed for good can be retried."
        case .skip:
            options.cancelsRunning
                ? "They have ended meanwhile, or are being ended already."
                : "Operations that run are only skipped if they are cancelled, too."
        case .hold: "They have ended meanwhile."
        case .release: "Only operations with the hold '\(ViewText.line(options.hold))' can be released from it."
        case .setPriority: "They have this priority already."
        case .delete: "Operations that run are not deleted."
        }
    }

    /// Whether the change loses changes of accounts, so that a page must warn of it.
    var warnsOfAccounts: Bool { self == .skip || self == .delete }

    /// The operations among the selected ones that the change concerns.
    func query(_ filter: OperationFilter) -> Query<QueuedOperation> {
        switch self {
        case .retry:
            // An operation with another status is not found, so the status of the filter must stay.
            if let status = filter.status, status != .failed { return filter.query.limit(0) }
            var failed = filter
            failed.status = .failed
            return failed.query
        case .delete: return filter.query.notRunning
        case .skip, .hold, .release, .setPriority: return filter.query
        }
    }

    /// Makes the change, in a separate commit.
    ///
    /// - Parameters:
    ///   - filter: the selected operations.
    ///   - limit: the greatest number of operations.
    /// - Returns: the number of changed operations.
    func run(
        _ filter: OperationFilter,
        limit: Int,
        _ options: OperationChangeOptions,
        in context: SavingContext
    ) throws -> Int {
        let query = self.query(filter).limit(limit)
        switch self {
        case .retry: return try context.retryOperations(query)
        case .skip:
            if options.cancelsRunning { return try context.skipOperations(query, running: .cancel) }
            return try context.skipOperations(query.notRunning)
        case .hold:
            let date = options.span.map { Date(timeIntervalSinceNow: $0.seconds) } ?? .distantFuture
            return try context.holdOperations(query, options.hold, until: date)
        case .release: return try context.releaseOperations(query.held(by: options.hold), from: options.hold)
        case .setPriority: return try context.setPriority(options.priority ?? 0, of: query)
        case .delete: return try context.batchDelete(query).deleted.count
        }
    }

    /// The result in words.
    ///
    /// - Parameters:
    ///   - count: the number of changed operations.
    ///   - selected: the number of selected operations.
    func result(_ count: Int, of selected: Int, _ options: OperationChangeOptions) -> String {
        let verb = count == 1 ? "was" : "were"
        let text = "\(BoundedCount.operations(count)) \(verb) \(participle(options))."
        guard selected > count else { return text }
        return "\(text) \(BoundedCount.operations(selected - count)) stayed as before. \(condition(options))"
    }

    /// The refusal of a change that concerns no operation.
    func nothing(_ options: OperationChangeOptions) -> ConsoleError {
        ConsoleError(
            .conflict,
            "Nothing was changed: the change concerns none of the selected operations. \(condition(options))"
        )
    }

    /// The refusal of a change of one operation.
    ///
    /// - Parameter row: the operation; nil if it does not exist.
    func nothing(_ options: OperationChangeOptions, _ id: Int64, _ row: JobRow?) -> ConsoleError {
        guard let row else {
            return ConsoleError(.conflict, "Nothing was changed: the store has no operation \(id), or no longer.")
        }
        let status = ViewText.line(row.status)
        if row.finishedAt != nil {
            return ConsoleError(
                .conflict,
                "Nothing was changed: operation \(id) has ended, with the result '\(status)'."
            )
        }
        return ConsoleError(
            .conflict,
            "Nothing was changed: operation \(id) exists, and its status is '\(status)'. \(condition(options))"
        )
    }
}

/// The values that a person enters for a change.
struct OperationChangeOptions: Sendable {
    /// The name of the hold that `hold` and `release` mean.
    static let usualHold = "operator"

    let hold: String
    /// The length of a hold; nil for a hold until its release.
    let span: TimeSpan?
    let priority: Int?
    /// Whether `skip` cancels operations that run.
    let cancelsRunning: Bool

    /// The values that a change uses, for the log.
    func values(of change: OperationChange) -> [String] {
        switch change {
        case .retry, .delete: []
        case .skip: cancelsRunning ? ["cancel-running=yes"] : []
        case .hold: ["hold=\(hold)", "for=\(span.map { TimeSpan.text($0.seconds) } ?? "its release")"]
        case .release: ["hold=\(hold)"]
        case .setPriority: ["priority=\(priority ?? 0)"]
        }
    }

    /// - Throws: ``ConsoleError`` for a wrong length, and if a priority is missing.
    init(_ change: OperationChange, _ request: ConsoleRequest) throws {
        // The name of a known hold is in the address, because browsers change line feeds in forms.
        hold = request.query.filled("hold") ?? request.form.filled("hold") ?? Self.usualHold
        let length = request.form.filled("for")
        span = length.flatMap { TimeSpan(argument: $0) }
        if length != nil, span == nil {
            throw ConsoleError.invalid("The length of a hold must be a whole number and a unit, such as 15m or 2h.")
        }
        priority = request.form.filled("priority").flatMap { Int($0) }
        if change == .setPriority, priority == nil {
            throw ConsoleError.invalid("The priority must be a whole number, such as 0, 5 or -3.")
        }
        cancelsRunning = request.form.filled("cancel-running") != nil
    }
}
