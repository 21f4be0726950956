public import Foundation
public import Strata

/// A finished operation, under the same id number that it had while it was queued: see
/// ``Strata/ObjectContext/finishedOperation(_:)``.
///
/// Finished operations are kept for the retention of their pipeline, and may be deleted like any objects.
@Model(.index("finishedAt"), table: "FinishedOperation")
public final class FinishedOperation {
    /// The pipeline in which the operation was queued.
    public internal(set) var pipeline: PipelineName
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int
    /// The lane of the operation.
    public internal(set) var lane: String
    /// The key of the operation.
    public internal(set) var key: String?
    /// The number of the commit that queued the operation.
    public internal(set) var commit: Int64
    /// When the operation was queued.
    public internal(set) var enqueuedAt: Date?
    /// The result of the operation.
    public internal(set) var result: OperationResult
    /// When the operation was finished.
    public internal(set) var finishedAt: Date
    /// How many attempts the operation took.
    public internal(set) var attempts: Int
    /// The failed attempts, with their messages.
    public internal(set) var failures: AttemptFailures
    /// The value that the handler has returned with ``Outcome/done(result:)`` or ``Outcome/doneWithResult(_:)``, as
    /// JSON; nil if it has returned none. ``resultValue(as:)`` decodes it.
    public internal(set) var resultValue: Data?
}
