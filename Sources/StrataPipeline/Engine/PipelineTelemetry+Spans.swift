import Strata
import Synchronization
import Tracing

/// The spans of attempts.
extension PipelineTelemetry {
    /// Starts the span of an attempt, with a link to the trace that has queued the operation; nil without a tracer.
    ///
    /// The span is not a child of that trace, which may have ended long ago. Each attempt begins its own trace.
    func startSpan(of operation: ClaimedOperation) -> (any Tracing.Span)? {
        guard let tracer else { return nil }
        let span = tracer.startSpan(SpanName.attempt.rawValue, context: .topLevel, ofKind: .consumer)
        if let trace = operation.trace.flatMap({ TraceCarrier(text: $0) })?.trace(by: tracer) {
            span.addLink(SpanLink(context: trace, attributes: [:]))
        }
        span.updateAttributes { attributes in
            attributes[.messagingSystem] = "strata"
            attributes[.messagingOperation] = "process"
            attributes[.destination] = operation.pipeline.rawValue
            attributes[.message] = "\(operation.claim.operation)"
            attributes[.attempt] = operation.attempt
            if !operation.lane.isEmpty { attributes[.lane] = operation.lane }
        }
        return span
    }
}

extension QueueEngine {
    /// Runs a body in the span of an attempt, which ends with the body, before the end of the attempt is reported.
    func inSpan(
        of operation: ClaimedOperation,
        _ consumer: Consumer.Definition,
        _ body: ((any Tracing.Span)?) async -> AttemptEnd?
    ) async -> AttemptEnd? {
        guard let span = consumer.events.telemetry?.startSpan(of: operation) else { return await body(nil) }
        defer { span.end() }
        return await ServiceContext.$current.withValue(span.context) { await body(span) }
    }
}

/// The error of an attempt whose deadline has passed, for the span of its handler. The handler may return when the
/// engine has already forgotten the attempt.
///
/// Isolation: any.
final class MissedDeadline: Sendable {
    private let stored = Mutex<PipelineError?>(nil)

    /// The error; nil if the deadline has not passed.
    var error: PipelineError? { stored.withLock { $0 } }

    func set(_ error: PipelineError) { stored.withLock { $0 = error } }
}

extension Outcome {
    /// Records the outcome that a handler has returned.
    func record(in span: any Tracing.Span) {
        let result: (name: String, failure: String?) =
            switch kind {
            case .done, .doneCommitting: ("done", nil)
            // Without a reason, the handler asks for another attempt although none has failed.
            case .retry(_, let reason): ("retry", reason)
            case .snooze: ("snooze", nil)
            case .wait: ("wait", nil)
            case .fail(let reason): ("fail", reason)
            case .skip: ("skip", nil)
            }
        span.updateAttributes { $0[.outcome] = result.name }
        // An outcome of fail has a text and no error, so its type is the code that callers who wait for a result get.
        let type = errorType ?? PipelineError.Code.operationFailed.description
        if let failure = result.failure { span.record(failure: failure, ofType: type) }
    }
}
