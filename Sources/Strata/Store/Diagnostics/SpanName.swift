/// The names of the spans that Strata starts. `Guides/Observing.md` explains each of them.
package enum SpanName: String, CaseIterable, Sendable {
    /// A block of `background`.
    case background = "strata.background"
    /// A block of `on`, `perform` or `push`.
    case perform = "strata.perform"
    /// A run of a block of `write`, of `on(_:committing:)`, or of a handler's `.done { … }`.
    case write = "strata.write"
    /// A commit that has written something or has failed.
    case commit = "strata.commit"
    /// A batch that has written something or has failed.
    case batch = "strata.batch"
    /// A statement that has taken at least the threshold for slow statements.
    case slowStatement = "strata.slow_statement"
    /// An attempt of an operation.
    case attempt = "strata.attempt"
}

/// The names of the attributes of spans. Those without the prefix `strata.` are OpenTelemetry's: see
/// https://opentelemetry.io/docs/specs/semconv/database/database-spans/ and
/// https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/.
package enum SpanKey: String, CaseIterable, Sendable {
    case system = "db.system.name"
    case namespace = "db.namespace"
    case operation = "db.operation.name"
    case query = "db.query.text"
    case returnedRows = "db.response.returned_rows"
    case errorType = "error.type"
    case messagingSystem = "messaging.system"
    case messagingOperation = "messaging.operation.type"
    case destination = "messaging.destination.name"
    case message = "messaging.message.id"
    case context = "strata.context"
    case sequence = "strata.sequence"
    case rows = "strata.rows"
    case wait = "strata.wait"
    case attempt = "strata.attempt"
    case lane = "strata.lane"
    case outcome = "strata.outcome"
}
