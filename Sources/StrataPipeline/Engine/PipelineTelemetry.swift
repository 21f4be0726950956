import Foundation
import Logging
import Metrics
import Strata
import Synchronization
import Tracing

/// Reports the work of a pipeline or broker to the log, the metrics and the tracer of its stack.
///
/// Isolation: any.
final class PipelineTelemetry: Sendable {
    /// The counters, timers and gauges of one pipeline or broker.
    private struct Instruments: Sendable {
        let ends: [Outcome: Counter]
        let wait: Metrics.Timer
        let duration: Metrics.Timer
        let running: Gauge

        init(_ source: MetricsSource) {
            var ends: [Outcome: Counter] = [:]
            for outcome in Outcome.allCases {
                ends[outcome] = source.counter(.operations, ("outcome", outcome.rawValue))
            }
            self.ends = ends
            wait = source.timer(.operationWait)
            duration = source.timer(.operationDuration)
            running = source.gauge(.runningOperations)
        }
    }

    /// The result of an attempt, in the words of logs and metrics.
    private enum Outcome: String, CaseIterable {
        case completed, skipped, dropped, expired, failed, retried, waiting, lost

        init(_ result: OperationResult) {
            self =
                switch result {
                case .completed: .completed
                case .skipped: .skipped
                case .discarded: .dropped
                case .expired: .expired
                }
        }
    }

    /// A running attempt.
    private struct Running {
        let start: ContinuousClock.Instant
        let pipeline: PipelineName
        let attempt: Int
    }

    private let logger: Logger?
    private let instruments: Instruments?
    /// The gauges of the queues; nil without metrics.
    let gauges: QueueGauges?
    /// Nil if attempts have no spans.
    let tracer: (any Tracer)?
    private let running = Mutex<[Int64: Running]>([:])

    /// Nil if the stack has neither a logger nor metrics nor a tracer.
    init?(_ stack: ContextStack, runner: String) {
        logger = stack.logger
        let source = stack.metricsSource?.adding(("runner", runner))
        instruments = source.map { Instruments($0) }
        gauges = source.map { QueueGauges($0) }
        tracer = stack.tracer
        if logger == nil, instruments == nil, tracer == nil { return nil }
    }

    /// Removes the gauges of a runner that is being closed, because their last values no longer describe its queues.
    /// Counters and timers stay, because they describe the past.
    func destroyGauges() {
        gauges?.destroy()
        instruments?.running.destroy()
    }

    /// Records that an operation is about to start.
    func recordStart(of operation: ClaimedOperation, now: Date) {
        let number = operation.claim.operation
        let count = running.withLock { running in
            running[number] = Running(start: .now, pipeline: operation.pipeline, attempt: operation.attempt)
            return running.count
        }
        instruments?.running.record(count)
        guard operation.claim.epoch == 1, let enqueuedAt = operation.enqueuedAt else { return }
        instruments?.wait.recordSeconds(max(now.timeIntervalSince(enqueuedAt), 0))
    }

    func record(_ event: PipelineEvent) {
        switch event {
        case .started(let id, _): log(.debug, "an operation has started", id.rawValue)
        case .stuck(let id, _): log(.warning, "a handler has not returned within its timeout", id.rawValue)
        case .finished(let id, let result): end(id.rawValue, Outcome(result), .debug)
        case .retrying(let id, let date, let message):
            let metadata: Logger.Metadata = [
                PipelineLogKey.until: "\(date.inWords)", PipelineLogKey.reason: "\(message.onOneLine)",
            ]
            end(id.rawValue, .retried, .info, metadata)
        case .waiting(let id, let constraint):
            end(id.rawValue, .waiting, .debug, [PipelineLogKey.reason: "\(constraint.rawValue.onOneLine)"])
        case .failed(let id, let message):
            end(id.rawValue, .failed, .warning, [PipelineLogKey.reason: "\(message.onOneLine)"])
        case .lost(let id): end(id.rawValue, .lost, .info)
        // The engine logs these itself, once for all runners.
        case .queueHeld, .storeFailed: break
        }
    }

    private func end(
        _ number: Int64,
        _ outcome: Outcome,
        _ level: Logger.Level,
        _ more: @autoclosure () -> Logger.Metadata = [:]
    ) {
        // This comes before the attempt is removed, because the log record names it.
        log(
            level,
            level == .warning ? "an operation has failed" : "an attempt has ended",
            number,
            more().merging([PipelineLogKey.outcome: "\(outcome.rawValue)"]) { $1 }
        )
        let (attempt, count) = running.withLock { running in (running.removeValue(forKey: number), running.count) }
        guard let instruments else { return }
        instruments.ends[outcome]?.increment()
        if let attempt { instruments.duration.record(duration: attempt.start.duration(to: .now)) }
        instruments.running.record(count)
    }

    private func log(
        _ level: Logger.Level,
        _ message: @autoclosure () -> Logger.Message,
        _ number: Int64,
        _ more: @autoclosure () -> Logger.Metadata = [:]
    ) {
        guard let logger, logger.logLevel <= level else { return }
        var metadata = more()
        metadata[PipelineLogKey.operation] = "\(number)"
        if let attempt = running.withLock({ $0[number] }) {
            metadata[PipelineLogKey.pipeline] = "\(attempt.pipeline)"
            metadata[PipelineLogKey.attempt] = "\(attempt.attempt)"
            metadata[LogKey.duration] = "\(LogKey.text(attempt.start.duration(to: .now)))"
        }
        logger.log(level: level, message(), metadata: metadata)
    }
}

/// The metadata keys for operations in a stack's log.
enum PipelineLogKey {
    static let operation = "strata.operation"
    static let pipeline = "strata.pipeline"
    static let attempt = "strata.attempt"
    static let outcome = "strata.outcome"
    static let reason = "strata.reason"
    static let until = "strata.until"
}
