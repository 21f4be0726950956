import Foundation
import Strata

/// A wait for the end of an operation, by the commits of all processes.
///
/// Isolation: used by one task.
struct OperationResultWait {
    let stack: ContextStack
    let id: ObjectID<QueuedOperation>
    /// When the wait ends without a result; nil for never.
    let deadline: Date?
    let clock: any PipelineClock

    /// What the store knows of the operation.
    private enum Sight: Sendable {
        case queued
        case failed(String)
        case finished(OperationResult, Data?)
        case unknown
    }

    /// Ends the stream of a wait when the stack is closed and releases its listeners.
    private final class StreamEnd: Sendable {
        let continuation: AsyncStream<Void>.Continuation

        init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

        deinit { continuation.finish() }
    }

    /// Waits until the operation has ended.
    ///
    /// - Returns: the result as JSON.
    /// - Throws: ``PipelineError`` with the reason why there is no result; `StrataError` with `insideBlock`;
    ///   `CancellationError`; the store's errors.
    func value() async throws -> Data {
        try stack.requireOutsideBlocks("The handler of the awaited operation")
        guard stack.knows(QueuedOperation.self), stack.knows(FinishedOperation.self) else {
            throw PipelineError(
                .modelsMissing,
                "The stack was opened without the models of pipelines. Open it with `models: [...] + Pipeline.models`."
            )
        }
        // All wake-ups since the last look need one look.
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // The listener is registered before the first look, so that no commit is missed in between.
        let listening = stack.listen { [id, end = StreamEnd(continuation)] commits in
            let finished = id.counterpart(FinishedOperation.self)
            let isConcerned = commits?.contains { $0.contains(id) || $0.contains(finished) } ?? true
            if isConcerned { end.continuation.yield() }
        }
        var alarm: (any PipelineAlarm)?
        defer {
            alarm?.cancel()
            withExtendedLifetime(listening) {}
        }
        continuation.yield()
        for await _ in wakes {
            alarm?.cancel()
            if let data = try end(await look()) { return data }
            guard let deadline else { continue }
            if clock.now >= deadline { throw deadlineError(deadline) }
            // An alarm may come early if the time of day was set, so each look sets a new one.
            alarm = clock.alarm(at: deadline) { continuation.yield() }
        }
        try Task.checkCancellation()
        throw closedError
    }

    private func look() async throws -> Sight {
        do {
            return try await stack.overStore { [id] context -> Sight in
                try context.refuseForeign(id)
                if let operation = try context.find(id) {
                    return operation.status == .failed ? .failed(operation.failures.list.last?.message ?? "") : .queued
                }
                guard let finished = try context.finishedOperation(id) else { return .unknown }
                return .finished(finished.result, finished.resultValue)
            }
        } catch let error as StrataError where error.code == .closed {
            throw closedError
        }
    }

    /// The same error, whether the stack is closed before the wait, during a look or between two looks. The operation
    /// may have ended or not.
    private var closedError: PipelineError {
        error(.closed, "The stack is closed, so the result cannot be read. Open the store again, and repeat the wait.")
    }

    /// The result of an operation that has ended; nil if it is still queued.
    private func end(_ sight: Sight) throws -> Data? {
        switch sight {
        case .queued: return nil
        case .finished(.completed, let data?): return data
        case .finished(.completed, nil):
            throw error(.noResult, "The operation is completed, and its handler has returned no result.")
        case .finished(.skipped, _): throw error(.operationSkipped, "The operation was skipped.")
        case .finished(.discarded, _):
            throw error(.operationDiscarded, "The operation has failed, and its pipeline discards failed operations.")
        case .finished(.expired, _): throw error(.operationExpired, "The operation has expired before it started.")
        case .failed(let message):
            throw error(.operationFailed, "The operation has failed: \(message) To try it again, call retry().")
        case .unknown:
            throw error(
                .noResult,
                "The store has no operation of this id: it is not committed yet, was deleted, or ended so long ago "
                    + "that its record is no longer kept."
            )
        }
    }

    private func deadlineError(_ deadline: Date) -> PipelineError {
        error(
            .deadlineExceeded,
            "The operation has not ended before \(deadline.inWords). It stays queued, and the wait can be repeated."
        )
    }

    private func error(_ code: PipelineError.Code, _ message: String) -> PipelineError {
        PipelineError(code, message, operations: [id.rawValue])
    }
}
