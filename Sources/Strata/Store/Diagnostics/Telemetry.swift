import Foundation
import Logging
import Tracing

/// The log, the metrics and the spans of a store.
///
/// Isolation: any.
struct Telemetry: Sendable {
    let logger: Logger?
    let metrics: StoreMetrics?
    /// Nil if the stack is not traced.
    let spans: StoreSpans?
    /// Whether metrics are recorded.
    var isMeasuring: Bool { metrics != nil }
    private let diagnostics: Diagnostics
    /// See ``Diagnostics/relationshipLoopLimit``. Nil also if nothing is logged.
    var relationshipLoopLimit: Int? { logger == nil ? nil : diagnostics.relationshipLoopLimit }
    /// Creates metrics with the dimensions of the diagnostics; nil without metrics.
    let metricsSource: MetricsSource?

    /// - Parameter path: the path of the store's file, of which spans have the name; nil for a store in memory. It is
    ///   evaluated only if the stack is traced.
    init(_ logger: Logger?, _ diagnostics: Diagnostics, path: @autoclosure () -> String? = nil) {
        self.logger = logger
        self.diagnostics = diagnostics
        metricsSource = diagnostics.metrics.map { MetricsSource($0, dimensions: diagnostics.metricsDimensions) }
        metrics = metricsSource.map { StoreMetrics($0) }
        spans = StoreSpans(diagnostics.tracer, namespace: path().map { URL(fileURLWithPath: $0).lastPathComponent })
    }

    /// Traces the statements of a connection if the diagnostics ask for statements or slow statements.
    func trace(_ connection: Connection) {
        let isSlowKnown = diagnostics.slowStatementThreshold != nil
        let areLogged = logger != nil && (isSlowKnown || diagnostics.statements != .off)
        let areRecorded = isSlowKnown && (spans != nil || diagnostics.slowStatements != nil)
        guard areLogged || areRecorded else { return }
        connection.startTracing(StatementTrace(logger, diagnostics, spans))
    }

    /// Begins to measure a write; nil if logging, metrics and spans are off.
    ///
    /// - Parameters:
    ///   - trace: the trace of the caller, whose current span is the parent of the write's span.
    ///   - isTraced: whether the write may make a span.
    func startMeasuring(
        under trace: @autoclosure () -> ServiceContext? = ServiceContext.current,
        isTraced: Bool = true
    ) -> WriteWatch? {
        let isLogged = logger.map { $0.logLevel <= .debug } ?? false
        if isTraced, spans != nil { return WriteWatch(trace: trace() ?? .topLevel) }
        return isMeasuring || isLogged ? WriteWatch() : nil
    }

    /// Reports the result of a write.
    ///
    /// - Parameters:
    ///   - watch: nil if nothing is reported.
    ///   - context: the name of the context that has written.
    ///   - waitingWrites: the number of writes that wait for the writer.
    ///   - outcome: the outcome of the write; nil if no rows were written.
    func report<Value>(
        _ kind: WriteKind,
        _ watch: WriteWatch?,
        of context: @autoclosure () -> String,
        journal: Journal,
        waitingWrites: @autoclosure () -> Int,
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
            metrics?.noteWaitingWrites(waitingWrites())
            recordSpan(kind, watch, of: context(), .success(outcome))
            logger?.debug(
                kind == .commit ? "committed" : "ran a batch",
                metadata: [
                    LogKey.context: "\(context())", LogKey.sequence: "\(outcome.sequence)",
                    LogKey.rows: "\(outcome.rows.total)", LogKey.duration: "\(LogKey.text(duration))",
                ]
            )
        case .failure(let error):
            // The write is repeated, so this is not reported as a failure.
            if error is StaleReads || error is OutdatedTransaction { return }
            let code = (error as? StrataError)?.code.description ?? "\(type(of: error))"
            metrics?.noteFailure(of: kind, code)
            metrics?.noteConflicts(in: error)
            metrics?.noteWaitingWrites(waitingWrites())
            recordSpan(kind, watch, of: context(), .failure(error))
            logger?.debug(
                kind == .commit ? "a commit has failed" : "a batch has failed",
                metadata: [LogKey.context: "\(context())", LogKey.error: "\(code)"]
            )
        }
    }

    private func recordSpan(
        _ kind: WriteKind,
        _ watch: WriteWatch,
        of context: @autoclosure () -> String,
        _ result: Result<WriteOutcome, any Error>
    ) {
        guard let spans, let trace = watch.trace else { return }
        spans.record(kind, watch, under: trace, in: context(), result)
    }
}
