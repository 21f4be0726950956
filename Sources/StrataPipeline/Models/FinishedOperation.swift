public import Foundation
public import Strata

/// An operation that is done, under the number of the id that it had while it was queued: see
/// ``Strata/ObjectContext/finishedOperation(_:)``.
///
/// Finished operations are kept as long as their pipeline says, and may be deleted like any objects.
@Model(.index("finishedAt"), table: "FinishedOperation")
public final class FinishedOperation {
    /// Where it was queued.
    public internal(set) var pipeline: PipelineName
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int
    /// Its lane.
    public internal(set) var lane: String
    /// Its key.
    public internal(set) var key: String?
    /// The number of the commit that has queued it.
    public internal(set) var commit: Int64
    /// When it was queued.
    public internal(set) var enqueuedAt: Date?
    /// What has become of it.
    public internal(set) var result: OperationResult
    /// When that was.
    public internal(set) var finishedAt: Date
    /// How many attempts it took.
    public internal(set) var attempts: Int
    /// What failed attempts have said.
    public internal(set) var failures: AttemptFailures
}
