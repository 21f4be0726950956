import Foundation
import Strata
import Synchronization
import Tracing

extension QueueEngine {
    /// Starts the handlers of claimed operations, and sends their events in order.
    func start(_ attempts: [EngineExecutor.Attempt]) {
        guard !attempts.isEmpty else { return }
        for (operation, consumer) in attempts {
            consumer.events.telemetry?.recordStart(of: operation, now: clock.now)
            let id = stack.id(operation.claim.operation, of: QueuedOperation.self)
            consumer.events.send(.started(id, attempt: operation.attempt))
            // The replacement is chosen now, so that this attempt uses it up even if the attempt times out before a
            // thread is free.
            if let replacement = consumer.interceptors.replacement(for: operation.claim.operation) {
                state.withLock { $0.running[operation.claim.operation]?.replacement = replacement }
            }
            if let timeout = operation.options?.timeout ?? consumer.options.timeout {
                setDeadline(timeout, of: operation, consumer)
            }
        }
        executor.start(attempts) { self.begin($0.operation, $0.consumer) }
    }

    /// Runs the handler of an operation in a separate task, unless the attempt has already ended.
    private func begin(_ operation: ClaimedOperation, _ consumer: Consumer.Definition) {
        let number = operation.claim.operation
        let running = state.withLock { state in state.isOpen(operation.claim) ? state.running[number] : nil }
        guard let running else { return }
        if running.isUnwanted {
            return end(AttemptEnd(operation: operation, consumer: consumer, outcome: .failure(CancellationError())))
        }
        let task = Task(executorPreference: executor) {
            await self.asHandler(of: consumer.id) {
                let attemptEnd = await self.inSpan(of: operation, consumer) { span in
                    await self.run(operation, consumer, running, span)
                }
                if let attemptEnd { self.end(attemptEnd, isLast: true) }
            }
        }
        let isCancelled = state.withLock { state in
            guard state.running[number]?.claim == operation.claim else { return true }
            state.running[number]?.task = task
            return state.running[number]!.isUnwanted
        }
        if isCancelled { task.cancel() }
    }

    private func setDeadline(_ timeout: Duration, of operation: ClaimedOperation, _ consumer: Consumer.Definition) {
        let number = operation.claim.operation
        let missed = consumer.events.telemetry?.tracer.map { _ in MissedDeadline() }
        let deadline = clock.alarm(at: clock.now.later(by: timeout.seconds)) { [weak self] in
            guard let self else { return }
            let error = PipelineError(
                .timedOut,
                "The attempt took longer than its timeout of \(timeout).",
                operations: [number]
            )
            let attemptEnd = AttemptEnd.failure(of: operation, consumer, error)
            guard recordMissedDeadline(attemptEnd) else { return }
            missed?.set(error)
            consumer.events.send(.stuck(stack.id(number, of: QueuedOperation.self), after: timeout))
            end(attemptEnd)
        }
        let isOver = state.withLock { state in
            guard state.running[number]?.claim == operation.claim else { return true }
            state.running[number]?.deadline = deadline
            state.running[number]?.missedDeadline = missed
            return state.running[number]!.isEnding
        }
        if isOver { deadline.cancel() }
    }

    /// Records that the deadline of an attempt has passed, and how this ends the attempt. Returns whether the deadline
    /// came first. In this case the handler's outcome does not count.
    private func recordMissedDeadline(_ attemptEnd: AttemptEnd) -> Bool {
        let claim = attemptEnd.operation.claim
        return state.withLock { state in
            guard state.isOpen(claim), case .open = state.running[claim.operation]!.timing else { return false }
            state.running[claim.operation]!.timing = .late(attemptEnd)
            return true
        }
    }

    /// Records that a handler has returned, and cancels the deadline. Returns whether the handler was in time.
    private func recordTimelyReturn(by claim: Claim) -> Bool {
        let (isMet, deadline) = state.withLock { state in
            guard let running = state.running[claim.operation], running.claim == claim else {
                return (true, nil as (any PipelineAlarm)?)
            }
            if case .late = running.timing { return (false, nil) }
            state.running[claim.operation]!.timing = .inTime
            return (true, running.deadline)
        }
        deadline?.cancel()
        return isMet
    }

    /// Runs a handler, and commits its changes.
    ///
    /// - Parameters:
    ///   - running: the attempt as it has begun.
    ///   - span: the span of the attempt.
    /// - Returns: the end of the attempt; nil if the engine has already recorded it in its own pass.
    private func run(
        _ operation: ClaimedOperation,
        _ consumer: Consumer.Definition,
        _ running: Running,
        _ span: (any Tracing.Span)?
    ) async -> AttemptEnd? {
        // After the deadline, its error is the end of the attempt, whatever the handler returns or throws.
        defer { if let span, let error = running.missedDeadline?.error { span.record(error) } }
        var attemptEnd: AttemptEnd
        do {
            let handler = { try await consumer.run(operation, self) }
            let replacement = running.replacement
            let outcome = if let replacement { try await replacement(handler) } else { try await handler() }
            if let span { outcome.record(in: span) }
            attemptEnd = AttemptEnd(operation: operation, consumer: consumer, outcome: .success(outcome))
            // If the handler was in time, its changes are committed, however long the commit waits for other commits.
            // Otherwise the changes are dropped.
            if case .doneCommitting(let changes) = outcome.kind, recordTimelyReturn(by: operation.claim) {
                guard let report = try await commitWhenPossible(changes, attemptEnd) else { return nil }
                attemptEnd.written = report
            }
        } catch {
            let reason = Self.reason(error)
            if running.missedDeadline?.error == nil { span?.record(reason) }
            attemptEnd = .failure(of: operation, consumer, reason)
        }
        return attemptEnd
    }

    /// The reason why an attempt has failed. An error after a cancellation counts as the cancellation, and no other
    /// error does.
    private static func reason(_ error: any Error) -> any Error {
        if error is AttemptCrash { return error }
        if Task.isCancelled { return CancellationError() }
        guard error is CancellationError else { return error }
        return PipelineError(
            .unexpectedCancellation,
            "The handler threw a CancellationError without being cancelled.",
            underlying: error
        )
    }

    /// An error that a handler's own block has thrown.
    private struct BlockError: Error {
        let error: any Error
    }

    /// How often a commit is tried that finds no room or that the disk refuses. Other commits may succeed where this
    /// one never will.
    private static let storeTries = 60

    /// Commits a handler's changes together with the end of its operation. If the store cannot be written to, the
    /// commit is tried again, as for attempts without changes: the handler has done its part, and a store error does
    /// not fail the attempt.
    ///
    /// - Returns: as ``commit(_:_:)``.
    private func commitWhenPossible(
        _ changes: @escaping @Sendable (ObjectContext) throws -> ResultValue?,
        _ attemptEnd: AttemptEnd
    ) async throws -> OperationRepository.Report? {
        var refusals = 0
        while true {
            do {
                return try await commit(changes, attemptEnd)
            } catch let error as BlockError {
                throw error.error
            } catch let error as StrataError where error.isAccessFailure && !Task.isCancelled {
                if error.code != .busy { refusals += 1 }
                if refusals == Self.storeTries { throw error }
                reportStoreFailure(error, [attemptEnd.consumer.events])
            }
            try await clock.pause(for: Self.storePause)
        }
    }

    /// Commits a handler's changes together with the end of its operation.
    ///
    /// - Returns: the result for the operation; nil if the engine has already recorded the result in its own pass.
    private func commit(
        _ changes: @escaping @Sendable (ObjectContext) throws -> ResultValue?,
        _ attemptEnd: AttemptEnd
    ) async throws -> OperationRepository.Report? {
        let (operation, consumer) = (attemptEnd.operation, attemptEnd.consumer)
        let id = stack.id(operation.claim.operation, of: QueuedOperation.self)
        // What the last run of the block has left.
        let left = Mutex<(releasedKey: String?, result: ResultValue?)>((nil, nil))
        let end = BlockEnd(self, attemptEnd)
        try await stack.commitOverStore(
            on: doneBlocks,
            pace: consumer.blockPace,
            author: Self.author
        ) { context in
            let completing = CompletingOperation.Value(id, operation)
            context.state[CompletingOperation.self] = completing
            let result: ResultValue?
            do { result = try changes(context) } catch { throw BlockError(error: error) }
            let key = completing.releasedKey
            left.withLock { $0 = (key, result) }
        } prepared: {
            end.prepare()
        } alongside: { transaction in
            try end.write(transaction) { repository in
                let (releasedKey, result) = left.withLock { $0 }
                let outcome = Outcome(kind: .done, result: result)
                let report = try repository.end(operation, .success(outcome), consumer.options)
                if case .lost = report { throw Self.lostError(operation.claim) }
                if let key = releasedKey {
                    try repository.transaction.run(QueueSQL.setFinishedKey, [.text(key), .integer(id.rawValue)])
                }
                return report
            }
        } rolledBack: {
            end.rollBack()
        } ended: {
            end.end($0)
        }
        return end.unreported
    }
}
