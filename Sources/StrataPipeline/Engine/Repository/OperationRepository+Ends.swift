import Foundation
import Strata

extension OperationRepository {
    /// The result of an attempt for its operation.
    enum Report: Sendable {
        case finished(OperationResult)
        case retrying(at: Date, message: String)
        case waiting(Constraint)
        case failed(String)
        case lost

        func event(_ id: ObjectID<QueuedOperation>) -> PipelineEvent {
            switch self {
            case .finished(let result): .finished(id, result)
            case .retrying(let date, let message): .retrying(id, at: date, message: message)
            case .waiting(let constraint): .waiting(id, constraint)
            case .failed(let message): .failed(id, message: message)
            case .lost: .lost(id)
            }
        }
    }

    /// Side results of a transaction, in addition to the requested changes.
    final class SideResults {
        typealias Entry = (operation: Int64, pipeline: PipelineName, report: Report)

        /// The results of operations that do not run.
        var reports: [Entry] = []
        /// Operations that must fail together with a prerequisite, with the reason.
        var toFail: [(operation: Int64, reason: String)] = []
        fileprivate var isFailing = false
        /// The types of payloads of operations that were found and left to other processes, by pipeline.
        var unhandledTypes: [PipelineName: Set<UTF8Text>] = [:]
        /// The queues of brokers whose limits, which an operator had stored, were deleted.
        var deletedLimits: [PipelineName] = []
        /// What the transaction knows of the store as a whole.
        var facts = StoreFacts()
    }

    /// Stores the outcome of an attempt, unless the attempt has lost the operation.
    func end(
        _ operation: ClaimedOperation,
        _ outcome: Result<Outcome, any Error>,
        _ options: PipelineOptions,
        isSatisfied: Bool = false,
        pause: Duration? = nil
    ) throws -> Report {
        if outcome.isDone, try !complete([operation]).isEmpty {
            try storeResult(outcome.result, of: operation.claim.operation)
            return .finished(.completed)
        }
        let claim = operation.claim
        var holder: (pipeline: PipelineName, lane: String, attempts: Int, request: OperationRequest?, crashes: Int)?
        try transaction.rows(
            QueueSQL.selectHolder,
            [.integer(claim.operation), .integer(claim.worker), .integer(claim.epoch)]
        ) { row in
            holder = (
                PipelineName(try row.read(String.self, at: 0)), try row.read(String.self, at: 1),
                try row.read(Int.self, at: 2),
                try row.request(at: 3),
                try row.read(Int.self, at: 4)
            )
        }
        guard let holder else { return .lost }
        var options = options
        if let retry = operation.options?.retry { options.retry = retry }
        // The operation may have been moved while it ran.
        let operation = operation.with(pipeline: holder.pipeline, lane: holder.lane)
        if outcome.isCrash {
            // The cause of this crash is known, so it counts as alone.
            try reclaim(claim.operation, after: holder.crashes, isAlone: true)
            return .lost
        }
        // A request may have been made meanwhile.
        switch holder.request {
        case .retry?:
            try retry(claim.operation)
            try startNextAfterAttempt(operation)
            return .retrying(at: now, message: "on request")
        // An outcome of done takes precedence over these requests.
        case .skip? where !outcome.isDone, .complete? where !outcome.isDone:
            let result: OperationResult = holder.request == .skip ? .skipped : .completed
            try finish(claim.operation, result, in: holder.pipeline, holder.lane)
            return .finished(result)
        default: break
        }
        switch outcome {
        case .success(let value):
            let report = try end(operation, value.kind, holder.attempts, options, isSatisfied)
            if outcome.isDone { try storeResult(value.result, of: claim.operation) }
            return report
        case .failure(let error): return try fail(operation, error, holder.attempts, options, pause)
        }
    }

    private func end(
        _ operation: ClaimedOperation,
        _ outcome: Outcome.Kind,
        _ attempts: Int,
        _ options: PipelineOptions,
        _ isSatisfied: Bool
    ) throws -> Report {
        let number = operation.claim.operation
        switch outcome {
        case .done, .doneCommitting:
            try finish(number, .completed, in: operation.pipeline, operation.lane)
            return .finished(.completed)
        case .skip:
            try finish(number, .skipped, in: operation.pipeline, operation.lane)
            return .finished(.skipped)
        case .retry(let pause, let reason):
            if let limit = options.retry.maxAttempts, attempts >= limit {
                var message = "The handler requested a retry, and the operation has used all of its attempts."
                if let reason { message = HandlerText.kept("\(message) The last error: \(reason)") }
                return try failForGood(operation, message, attempts, options)
            }
            return try retry(operation, after: pause.seconds, because: reason, attempts)
        case .snooze(let pause, let reason):
            return try retry(operation, after: pause.seconds, because: reason, attempts, withoutAttempts: 1)
        case .wait(let constraint) where constraint.rawValue.utf8.count > HandlerText.limit:
            let error = PipelineError(
                .invalidArgument,
                "The handler waits for a constraint whose name has \(constraint.rawValue.utf8.count) bytes. A name "
                    + "may have at most \(HandlerText.limit) bytes."
            )
            return try fail(operation, error, attempts, options)
        case .wait(let constraint) where constraint.rawValue.utf8.isEmpty:
            let error = PipelineError(
                .invalidArgument,
                "The handler waits for a constraint without a name. Name what the operation waits for."
            )
            return try fail(operation, error, attempts, options)
        case .wait(let constraint) where isSatisfied:
            // The constraint has been satisfied meanwhile, or the handler has other information. The pause keeps the
            // handler from being started again at once.
            try startPause(of: number, until: now.addingTimeInterval(Self.doubtPause))
            try requeue(operation, .held, withoutAttempts: 1)
            return .waiting(constraint)
        case .wait(let constraint):
            try requeue(operation, .held, withoutAttempts: 1, constraint)
            return .waiting(constraint)
        case .fail(let reason):
            return try failForGood(operation, reason, attempts, options)
        }
    }

    private func fail(
        _ operation: ClaimedOperation,
        _ error: any Error,
        _ attempts: Int,
        _ options: PipelineOptions,
        _ pause: Duration? = nil
    ) throws -> Report {
        if error is CancellationError {
            // The operation is returned to the queue without a failed attempt.
            try requeue(operation, .pending, withoutAttempts: 1)
            return .retrying(at: now, message: "cancelled")
        }
        let message = HandlerText.kept("\(error)")
        if Self.isPermanent(error) || options.retry.maxAttempts.map({ attempts >= $0 }) ?? false {
            return try failForGood(operation, message, attempts, options)
        }
        let pause = pause?.seconds ?? options.retry.pause(after: attempts, .random(in: 0...1))
        return try retry(operation, after: pause, because: message, attempts)
    }

    /// Whether a further attempt would fail the same way.
    private static func isPermanent(_ error: any Error) -> Bool {
        error is UnreadableOperation || (error as? PipelineError)?.code == .resultTooLarge
    }

    /// Starts the pause before the next attempt.
    ///
    /// - Parameter reason: why the attempt has failed; nil if the handler has not given a reason.
    private func retry(
        _ operation: ClaimedOperation,
        after pause: Double,
        because reason: String?,
        _ attempts: Int,
        withoutAttempts uncounted: Int = 0
    ) throws -> Report {
        let number = operation.claim.operation
        // The least pause keeps a handler that asks for no pause from spinning.
        let until = now.later(by: max(pause, Self.leastPause))
        if let reason { try recordFailure(reason, attempts, of: number) }
        try startPause(of: number, until: until)
        try requeue(operation, .held, withoutAttempts: uncounted, reason: reason)
        return .retrying(at: until, message: reason ?? "requested by the handler")
    }

    private static let leastPause = 0.01
    private static let doubtPause = 1.0

    private func failForGood(
        _ operation: ClaimedOperation,
        _ message: String,
        _ attempts: Int,
        _ options: PipelineOptions
    ) throws -> Report {
        let number = operation.claim.operation
        try recordFailure(message, attempts, of: number)
        let isDiscarded = options.onFailure == .discard
        try finishFailure(of: number, isDiscarded: isDiscarded, in: operation.pipeline, operation.lane)
        return isDiscarded ? .finished(.discarded) : .failed(message)
    }

    /// Makes an operation fail permanently that does not run.
    func fail(_ number: Int64, _ message: String) throws {
        guard let state = try state(of: number), state.status != .failed, state.status != .active else {
            return
        }
        let message = HandlerText.kept(message)
        try recordFailure(message, state.attempts, of: number)
        let isDiscarded = try rules(state.pipeline).onFailure == .discard
        try finishFailure(of: number, isDiscarded: isDiscarded, in: state.pipeline, state.lane)
        sideResults.reports.append((number, state.pipeline, isDiscarded ? .finished(.discarded) : .failed(message)))
    }

    /// Keeps a failed operation in place, or discards it, and then fails or releases its dependants by their policies.
    private func finishFailure(of number: Int64, isDiscarded: Bool, in pipeline: PipelineName, _ lane: String) throws {
        var toFail: [Int64] = []
        var toRun: [Int64] = []
        try transaction.rows(QueueSQL.selectDependantsOfFailed, [.integer(number)]) { row in
            let dependant = try row.read(Int64.self, at: 0)
            if try row.read(DependencyPolicy.self, at: 1) == .fail {
                toFail.append(dependant)
            } else {
                toRun.append(dependant)
            }
        }
        // This is done before the discard, which would release these dependants.
        sideResults.toFail += toFail.map { ($0, Self.reason(number)) }
        if isDiscarded {
            try finish(number, .discarded, in: pipeline, lane)
        } else {
            try moveToStatus(number, .failed, withoutAttempts: 0)
            try startNextInLane(lane, of: pipeline)
            for dependant in toRun { try reevaluate(dependant) }
        }
        try failDependants()
    }

    /// Fails the dependants of failed operations, the dependants of these, and so on.
    func failDependants() throws {
        // A loop instead of recursion: a chain of thousands of operations must not exhaust the call stack.
        guard !sideResults.isFailing else { return }
        sideResults.isFailing = true
        defer { sideResults.isFailing = false }
        while let (number, reason) = sideResults.toFail.popLast() { try fail(number, reason) }
    }

    static func reason(_ prerequisite: Int64) -> String {
        "Operation \(prerequisite) has failed, and this operation depends on it."
    }

    /// Stores why an attempt has failed.
    private func recordFailure(_ message: String, _ attempt: Int, of number: Int64) throws {
        var failures = AttemptFailures()
        try transaction.rows(QueueSQL.selectFailures, [.integer(number)]) { row in
            failures = (try? row.read(AttemptFailures.self, at: 0)) ?? failures
        }
        failures.append(AttemptFailure(attempt: attempt, time: now.timeIntervalSinceReferenceDate, message: message))
        try transaction.run(
            QueueSQL.setFailures,
            [try failures.storedValue, .integer(transaction.number), .integer(number)]
        )
        try transaction.report(updated: number, ["failures"], of: QueuedOperation.self)
    }

    /// Returns an operation to its queue.
    private func requeue(
        _ operation: ClaimedOperation,
        _ status: OperationStatus,
        withoutAttempts attempts: Int,
        _ constraint: Constraint? = nil,
        reason: String? = nil
    ) throws {
        try moveToStatus(operation.claim.operation, status, withoutAttempts: attempts, constraint, reason: reason)
        try startNextAfterAttempt(operation)
    }

    /// Starts an operation that now comes before this one, if the attempt has kept it waiting.
    private func startNextAfterAttempt(_ operation: ClaimedOperation) throws {
        // In `commits`, the operation stays in the group of its commit.
        guard try rules(operation.pipeline).ordering != .commits else { return }
        try startNextInLane(operation.lane, of: operation.pipeline)
    }

    private func moveToStatus(
        _ number: Int64,
        _ status: OperationStatus,
        withoutAttempts attempts: Int,
        _ constraint: Constraint? = nil,
        reason: String? = nil
    ) throws {
        try transaction.run(
            QueueSQL.requeue,
            [
                .integer(Int64(status.rawValue)), .integer(Int64(attempts)),
                constraint.map { .text($0.rawValue) } ?? .null, .integer(transaction.number), .integer(number),
            ]
        )
        try reportStatusChange(of: number, QueueSQL.requeueColumns, reason: reason)
    }
}

extension Result<Outcome, any Error> {
    /// Whether the attempt ended as if the process had died.
    var isCrash: Bool { if case .failure(let error) = self { error is AttemptCrash } else { false } }

    /// The value that the operation keeps if it is completed; nil for none.
    var result: ResultValue? { if case .success(let outcome) = self { outcome.result } else { nil } }

    /// The constraint that the handler waits for; nil after any other outcome.
    var constraint: Constraint? {
        if case .success(let outcome) = self, case .wait(let constraint) = outcome.kind { constraint } else { nil }
    }

    /// Whether the handler has returned an outcome of done.
    var isDone: Bool {
        switch self {
        case .success(let outcome):
            switch outcome.kind {
            case .done, .doneCommitting: true
            default: false
            }
        case .failure: false
        }
    }
}
