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
    /// See ``Diagnostics/relationshipLoopLimit``. Nil also if nothing is logged.
    var relationshipLoopLimit: Int? { logger == nil ? nil : diagnostics.relationshipLoopLimit }
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

    /// Begins to measure a write; nil if neither logging nor metrics are on.
    func startMeasuring() -> WriteWatch? {
        let isLogged = logger.map { $0.logLevel <= .debug } ?? false
        return isMeasuring || isLogged ? WriteWatch() : nil
    }

    /// Reports the result of a write.
    ///
    /// - Parameters:
    ///   - watch: nil if nothing is reported.
    ///   - context: the name of the context that has written.
    ///   - outcome: the outcome of the write; nil if no rows were written.
    func report<Value>(
        _ kind: WriteKind,
        _ watch: WriteWatch?,
        of context: @autoclosure () -> String,
        journal: Journal,
        _ result: Result<Value, any Error>,
        outcome: (Value) -> WriteOutcome?
    ) {
        guard let watch else { return }
        switch result {
        case .success(let value):
            guard let outcome = outcome(value) else { return }
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
        case .failure(let error):
            // The write is repeated, so this is not reported as a failure.
            if error is StaleReads { return }
            let code = (error as? StrataError)?.code.description ?? "\(type(of: error))"
            metrics?.noteFailure(of: kind, code)
            metrics?.noteConflicts(in: error)
            logger?.debug(
                kind == .commit ? "a commit has failed" : "a batch has failed",
                metadata: [LogKey.context: "\(context())", LogKey.error: "\(code)"]
            )
        }
    }
}
