public import Foundation
public import Strata

/// An operation in a queue: a row that the commit which enqueued it has stored.
///
/// Create operations by
/// ``Strata/ObjectContext/enqueue(_:in:lane:priority:key:notBefore:options:tags:)-(Payload,_,_,_,_,_,_,_)``, and find
/// them by any query. Settable properties may be changed in any context; a change applies from its commit on.
@Model(
    .index("status", "pipeline", "rank", "commit"),
    .index("pipeline", "lane", "sortKey", "commit"),
    .index("pipeline", "lane", "rank", "commit", whereNotNil: "awaitsPlace"),
    .index("constraint", whereNotNil: "constraint"),
    .index("suspicion", whereNotNil: "suspicion"),
    .index("schedule", whereNotNil: "schedule"),
    .unique("pipeline", "key", whereNotNil: "key"),
    table: "QueuedOperation"
)
public final class QueuedOperation {
    /// The pipeline in which the operation is queued.
    public internal(set) var pipeline: PipelineName
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int = 1
    /// The lane of the operation. Operations of one lane follow their pipeline's ordering among each other.
    public internal(set) var lane: String = ""
    /// In serial orderings, operations are ordered by this key before their order of insertion.
    public var sortKey: Double = 0
    /// The priority of the operation. Of the ready operations, those with the greatest priority start first.
    public var priority: Int = 0
    /// The key of the operation, unique among the queued operations of a pipeline; nil if the operation has no key.
    public internal(set) var key: String?
    /// The name of the schedule that queued the operation; nil if a commit of the application queued it.
    @Attribute(.bookkeeping) public internal(set) var schedule: String?
    /// A pending request to skip, complete or retry the operation.
    public internal(set) var request: OperationRequest?
    /// Why the operation cannot be stored. Every save checks this value and throws, so it is never stored.
    var problem: String?
    /// Counts changes of rows that belong to this operation, so that they are changes of this row too.
    var edits: Int = 0
    /// Whether `enqueue` has created this object under a new id, which no other code knew.
    @Transient var isMadeHere = false
    /// When the operation was first saved.
    @Attribute(.createdAt) public internal(set) var enqueuedAt: Date?
    /// The sort value for descending priority.
    @Derived var rank: Int { ~priority }

    /// The number of the commit that queued the operation, or whose operations it joined by ``join(_:)``. It is at most
    /// 0 before the operation is queued.
    @Attribute(.commitNumber) public internal(set) var commit: Int64 = 0
    /// The status of the operation.
    @Attribute(.bookkeeping) public internal(set) var status: OperationStatus = OperationStatus.pending
    /// How often the operation's handler was started, without the starts that do not count as attempts.
    @Attribute(.bookkeeping) public internal(set) var attempts: Int = 0
    /// How often the process has ended before the operation's handler, while no other operation ran there.
    @Attribute(.bookkeeping) public internal(set) var crashes: Int = 0
    /// How often the process has ended while the operation ran, since its last attempt that came to an end; nil if
    /// never. If the operation ran alone, the number does not grow.
    ///
    /// A suspected operation starts only when nothing else has started in its process within 30 seconds. Nothing else
    /// starts there for the next 30 seconds, or until the operation ends. The time doubles with each of these ends of a
    /// process. If the process ends again within this time, the operation is known to be the cause.
    @Attribute(.bookkeeping) public internal(set) var suspicion: Int?
    /// The failed attempts, with their messages.
    @Attribute(.bookkeeping) public internal(set) var failures: AttemptFailures = AttemptFailures()
    /// True while the operation waits because its lane runs or starts as many operations as the limits allow; nil
    /// otherwise.
    @Attribute(.bookkeeping) var awaitsPlace: Bool?
    /// The constraint that the operation waits for.
    @Attribute(.bookkeeping) public internal(set) var constraint: String?
    /// The worker that runs the operation.
    @Attribute(.bookkeeping) var worker: Int64?
    /// A fencing token: it grows with each claim. A worker that has lost the operation cannot report an outcome in
    /// place of the current one.
    @Attribute(.bookkeeping) var epoch: Int64 = 0
    /// When the operation's handler was last started.
    @Attribute(.bookkeeping) public internal(set) var startedAt: Date?
    /// The progress that the handler has reported, from 0 to 1.
    @Attribute(.bookkeeping) public internal(set) var progress: Double?

    /// Checks that the payload could be encoded, that the pipeline's name and the key of `enqueue` are not empty, and
    /// that its options and tags are valid.
    public static func validate(_ row: Row, _ failures: inout Validation<QueuedOperation>) {
        guard let problem = row.problem else { return }
        if row.pipeline.isEmpty {
            failures.fail(emptyPipeline, column: \.pipeline)
        } else if isOfPayload(problem) {
            failures.fail(problem, column: \.payload)
        } else if problem.hasSameBytes(as: emptyKey) {
            failures.fail(problem, column: \.key)
        } else {
            failures.fail(problem)
        }
    }
}
