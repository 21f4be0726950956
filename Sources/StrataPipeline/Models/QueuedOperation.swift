public import Foundation
public import Strata

/// An operation that is to be done: a row of the store that the commit which holds it has queued.
///
/// Operations are made by ``Strata/ObjectContext/enqueue(_:in:lane:priority:key:notBefore:)`` and found by any query. What is
/// settable may be changed in any context, and counts from the commit on.
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
    /// Where it is queued.
    public internal(set) var pipeline: PipelineName
    /// The name of the payload's type.
    public internal(set) var type: String
    /// The payload, as JSON.
    public internal(set) var payload: Data
    /// The version of the payload's type that has stored it.
    public internal(set) var payloadVersion: Int = 1
    /// Operations of one lane follow the order of their pipeline among each other.
    public internal(set) var lane: String = ""
    /// In pipelines that run one operation after the other: what comes before the order of insertion.
    public var sortKey: Double = 0
    /// Of operations that are ready, those of the greatest priority come first.
    public var priority: Int = 0
    /// No two queued operations of a pipeline have the same one. Any number may have none.
    public internal(set) var key: String?
    /// The name of the schedule by which it was queued; nil if a commit queued it.
    @Attribute(.bookkeeping) public internal(set) var schedule: String?
    /// What somebody wants to become of it.
    public internal(set) var request: OperationRequest?
    /// Why it cannot be stored; checked by every save, so that it never is.
    var problem: String?
    /// Counts edits that concern other rows, so that they are edits of this one.
    var edits: Int = 0
    /// Whether this object is what `enqueue` has made, under an id that nobody else had.
    @Transient var isMadeHere = false
    /// When it was first saved.
    @Attribute(.createdAt) public internal(set) var enqueuedAt: Date?
    /// Sorts by descending priority.
    @Derived var rank: Int { ~priority }

    /// The number of the commit that has queued it, or that it has joined by ``join(_:)``; not above 0 before it is queued.
    @Attribute(.commitNumber) public internal(set) var commit: Int64 = 0
    /// Where it stands.
    @Attribute(.bookkeeping) public internal(set) var status: OperationStatus = OperationStatus.pending
    /// How often its handler was started, apart from what has used no attempt.
    @Attribute(.bookkeeping) public internal(set) var attempts: Int = 0
    /// How often the process of its handler has ended before the handler had, while no other operation ran there.
    @Attribute(.bookkeeping) public internal(set) var crashes: Int = 0
    /// How often its process has ended while it ran, since its last attempt that came to an end; nil if never. If it ran alone, this does not grow.
    ///
    /// Such an operation is started when nothing else has begun in its process within 30 seconds, and nothing else starts there for 30 seconds, or until it
    /// ends. The time doubles with each of these ends. If the process ends again in that time, the operation is known to be the cause.
    @Attribute(.bookkeeping) public internal(set) var suspicion: Int?
    /// What failed attempts have said.
    @Attribute(.bookkeeping) public internal(set) var failures: AttemptFailures = AttemptFailures()
    /// True while it waits because as many of its lane run as may at once, and nil otherwise.
    @Attribute(.bookkeeping) var awaitsPlace: Bool?
    /// The constraint that it waits for.
    @Attribute(.bookkeeping) public internal(set) var constraint: String?
    /// The process that runs it.
    @Attribute(.bookkeeping) var worker: Int64?
    /// Grows with each claim, so that whoever has lost it does not speak for who has it now.
    @Attribute(.bookkeeping) var epoch: Int64 = 0
    /// When its handler was started last.
    @Attribute(.bookkeeping) public internal(set) var startedAt: Date?
    /// What its handler says of its progress, from 0 to 1.
    @Attribute(.bookkeeping) public internal(set) var progress: Double?

    /// Checks that the payload could be encoded, and that the pipeline has a name.
    public static func validate(_ row: Row, _ failures: inout Validation<QueuedOperation>) {
        guard let problem = row.problem else { return }
        if row.pipeline.isEmpty {
            failures.fail(problem, column: \.pipeline)
        } else {
            failures.fail(problem, column: \.payload)
        }
    }
}
