import Foundation
import Strata
import Synchronization

extension QueueEngine {
    /// Has the handler of an operation that was claimed run in a task of its own.
    func start(_ operation: ClaimedOperation, _ consumer: Consumer?) {
        guard let consumer else { return }
        consumer.events.telemetry?.noteStart(of: operation, now: clock.now)
        consumer.events.send(
            .started(stack.id(operation.claim.operation, of: QueuedOperation.self), attempt: operation.attempt)
        )
        let task = Task { await self.asHandler(of: consumer.id) { await self.run(operation, consumer) } }
        state.withLock { state in
            guard state.running[operation.claim.operation]?.claim == operation.claim else { return }
            state.running[operation.claim.operation]?.task = task
        }
        guard let timeout = consumer.options.timeout else { return }
        let deadline = clock.alarm(at: clock.now.addingTimeInterval(timeout.seconds)) { [weak self] in
            let error = PipelineError(
                .timedOut,
                "The attempt has taken longer than \(timeout).",
                operations: [operation.claim.operation]
            )
            // What the handler says of its cancellation comes too late.
            self?.end(Ending(operation: operation, consumer: consumer, outcome: .failure(error)))
            task.cancel()
        }
        let isOver = state.withLock { state in
            guard state.running[operation.claim.operation]?.claim == operation.claim else { return true }
            state.running[operation.claim.operation]?.deadline = deadline
            return state.running[operation.claim.operation]!.isEnding
        }
        if isOver { deadline.cancel() }
    }

    private func run(_ operation: ClaimedOperation, _ consumer: Consumer) async {
        var ending: Ending
        do {
            let outcome = try await consumer.handler(operation, self)
            ending = Ending(operation: operation, consumer: consumer, outcome: .success(outcome))
            if case .doneCommitting(let changes) = outcome.kind {
                ending.written = try await commit(changes, operation, consumer)
            }
        } catch {
            ending = Ending(operation: operation, consumer: consumer, outcome: .failure(Self.reason(error)))
        }
        end(ending)
    }

    /// Why an attempt has failed. What comes of a cancellation is one, and nothing else is.
    private static func reason(_ error: any Error) -> any Error {
        if Task.isCancelled { return CancellationError() }
        guard error is CancellationError else { return error }
        return PipelineError(
            .unexpectedCancellation,
            "The handler has thrown a CancellationError, and nobody had cancelled it.",
            underlying: error
        )
    }

    /// Commits a handler's changes and the end of its operation together.
    ///
    /// - Returns: what became of the operation.
    private func commit(
        _ changes: @escaping @Sendable (ObjectContext) throws -> Void,
        _ operation: ClaimedOperation,
        _ consumer: Consumer
    ) async throws -> OperationBook.Report {
        let now = clock.now
        let options = consumer.options
        let all = Self.rules(of: state.withLock { Array($0.consumers.values) })
        let report = Mutex(OperationBook.Report.lost)
        try await stack.overStore { context in
            try changes(context)
            try context.commit(author: Self.author) { transaction in
                let book = OperationBook(transaction, now: now, all)
                let end = try book.end(operation, .success(.done), options)
                if case .lost = end { throw Self.lostError(operation.claim) }
                report.withLock { $0 = end }
            }
        }
        return report.withLock { $0 }
    }
}
