import Foundation
import Logging
import Metrics

/// The log and the metrics of a store.
///
/// Isolation: any.
struct Telemetry: Sendable {
    let logger: Logger?
    let metrics: StoreMetrics?
    /// Whether metrics are recorded.
    var isMeasuring: Bool { metrics != nil }
    private let diagnostics: Diagnostics
    /// The factory of metrics and their dimensions; nil without metrics.
    var factory: (factory: any MetricsFactory, dimensions: [(String, String)])? {
        diagnostics.metrics.map { ($0, diagnostics.metricsDimensions) }
    }

    init(_ logger: Logger?, _ diagnostics: Diagnostics) {
        self.logger = logger
        self.diagnostics = diagnostics
        metrics = diagnostics.metrics.map { StoreMetrics($0, diagnostics.metricsDimensions) }
    }

    /// Traces the statements of a connection if the diagnostics ask for statements or slow statements.
    func trace(_ connection: Connection) {
        guard let logger, diagnostics.statements != .off || diagnostics.slowStatementThreshold != nil else { return }
        connection.startTracing(StatementTrace(logger, diagnostics))
    }

    /// Runs a write, and reports the write if logging or metrics are on.
    ///
    /// - Parameters:
    ///   - context: the name of the context that writes.
    ///   - body: the write. Its parameter records the moment when the writer is free; nil if nothing is reported.
    ///   - outcome: the outcome of the write; nil if no rows were written.
    func measuring<Result>(
        _ kind: WriteKind,
        of context: @autoclosure () -> String,
        journal: Journal,
        _ body: (WriteWatch?) throws -> Result,
        outcome: (Result) -> WriteOutcome?
    ) throws -> Result {
        let isLogged = logger.map { $0.logLevel <= .debug } ?? false
        guard isMeasuring || isLogged else { return try body(nil) }
        let watch = WriteWatch()
        do {
            let result = try body(watch)
            if let outcome = outcome(result) {
                let duration = watch.duration
                metrics?.note(kind, outcome.rows, duration, waited: watch.waiting)
                metrics?.noteSize(of: journal)
                logger?.debug(
                    kind == .commit ? "committed" : "ran a batch",
                    metadata: [
                        LogKey.context: "\(context())", LogKey.sequence: "\(outcome.sequence)",
                        LogKey.rows: "\(outcome.rows.total)", LogKey.duration: "\(LogKey.text(duration))",
                    ]
                )
            }
            return result
        } catch let error as StaleReads {
            // Not reported as a failure, because the write is repeated.
            throw error
        } catch {
            let code = (error as? StrataError)?.code.description ?? "\(type(of: error))"
            metrics?.noteFailure(of: kind, code)
            metrics?.noteConflicts(in: error)
            logger?.debug(
                kind == .commit ? "a commit has failed" : "a batch has failed",
                metadata: [LogKey.context: "\(context())", LogKey.error: "\(code)"]
            )
            throw error
        }
    }
}
