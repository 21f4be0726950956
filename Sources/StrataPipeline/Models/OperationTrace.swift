import Strata

/// The trace of the `enqueue` of a queued operation, under the operation's id number.
///
/// It exists for operations that were queued inside a span by a stack with a tracer, as long as they are queued.
@Model(table: "OperationTrace")
package final class OperationTrace {
    /// The fields of the trace, as the text of a `TraceCarrier`.
    package internal(set) var carrier: String
}
