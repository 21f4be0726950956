import Foundation
import Tracing

/// The spans of one store.
///
/// Commits and slow statements become spans when they have ended, with their earlier start. So a commit without changes
/// makes no span, and nothing is held during the work.
///
/// Isolation: any.
package struct StoreSpans: Sendable {
    package let tracer: any Tracer
    /// The name of the store's file; nil for a store in memory.
    private let namespace: String?

    /// Nil without a tracer, or with one that records nothing.
    init?(_ tracer: (any Tracer)?, namespace: @autoclosure () -> String?) {
        guard let tracer, !(tracer is NoOpTracer) else { return nil }
        self.tracer = tracer
        self.namespace = namespace()
    }

    /// Starts the span of a block, as a child of the calling task's span. The block's end must end it.
    ///
    /// - Parameter context: the name of the context.
    func startBlock(_ name: SpanName, in context: String) -> any Tracing.Span {
        let span = tracer.startSpan(name.rawValue, context: ServiceContext.current ?? .topLevel, ofKind: .internal)
        span.updateAttributes { attributes in
            describe(&attributes)
            attributes[.context] = context
        }
        return span
    }

    /// Records the end of a write.
    ///
    /// - Parameters:
    ///   - parent: the context of the caller.
    ///   - context: the name of the context that has written.
    ///   - result: the written rows, or the error.
    func record(
        _ kind: WriteKind,
        _ watch: WriteWatch,
        under parent: ServiceContext,
        in context: String,
        _ result: Result<WriteOutcome, any Error>
    ) {
        let name: SpanName = kind == .commit ? .commit : .batch
        let operation = kind == .commit ? "COMMIT" : "BATCH"
        let wait: Double = watch.waiting / .seconds(1)
        let span = tracer.startSpan(
            name.rawValue,
            context: parent,
            ofKind: .client,
            at: DefaultTracerClock.Timestamp.before(watch.duration)
        )
        span.updateAttributes { attributes in
            describe(&attributes)
            attributes[.operation] = operation
            attributes[.context] = context
            attributes[.wait] = wait
            if case .success(let outcome) = result {
                attributes[.sequence] = outcome.sequence
                attributes[.rows] = outcome.rows.total
            }
        }
        if case .failure(let error) = result { span.record(error) }
        span.end()
    }

    /// Records the end of a slow statement, as a child of the span of the running thread.
    ///
    /// - Parameters:
    ///   - sql: the text, in which values are placeholders.
    ///   - rows: the number of returned rows; nil for a statement that returns none.
    func recordSlowStatement(_ sql: String, _ duration: Duration, rows: Int64?, in context: String?) {
        let span = tracer.startSpan(
            SpanName.slowStatement.rawValue,
            context: ServiceContext.current ?? .topLevel,
            ofKind: .client,
            at: DefaultTracerClock.Timestamp.before(duration)
        )
        span.updateAttributes { attributes in
            describe(&attributes)
            attributes[.operation] = Self.operation(of: sql)
            attributes[.query] = sql
            if let rows { attributes[.returnedRows] = rows }
            if let context { attributes[.context] = context }
        }
        span.end()
    }

    private func describe(_ attributes: inout SpanAttributes) {
        attributes[.system] = "sqlite"
        if let namespace { attributes[.namespace] = namespace }
    }

    /// The first word of a statement.
    private static func operation(of sql: String) -> String {
        sql.drop(while: \.isWhitespace).prefix { $0.isLetter }.uppercased()
    }
}

extension SpanAttributes {
    /// The value of one of Strata's attributes.
    package subscript(key: SpanKey) -> (any SpanAttributeConvertible)? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }
}

extension Tracing.Span {
    /// Records that the work of the span has failed.
    package func record(_ error: any Error) {
        record(failure: "\(error)", ofType: SpanKey.errorTypeName(of: error))
        recordError(error)
    }

    /// Records that the work of the span has failed, without an error value.
    ///
    /// - Parameter type: the name for the kind of failure.
    package func record(failure message: String, ofType type: String) {
        updateAttributes { $0[.errorType] = type }
        setStatus(SpanStatus(code: .error, message: message))
    }
}

extension SpanKey {
    /// The value of ``errorType`` for an error: its code, or else its type.
    package static func errorTypeName(of error: any Error) -> String {
        if let error = error as? any ProductError { error.codeName } else { "\(type(of: error))" }
    }
}

extension ProductError {
    /// The name of the code.
    fileprivate var codeName: String { code.description }
}

extension DefaultTracerClock.Timestamp {
    /// The moment that lies a duration before now.
    fileprivate static func before(_ duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = UInt64(max(seconds, 0)) * 1_000_000_000 + UInt64(max(attoseconds, 0)) / 1_000_000_000
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        return Self(nanosecondsSinceEpoch: now - min(nanoseconds, now))
    }
}
