public import Strata

/// The result of queueing an operation that is unique for some time.
///
/// ```swift
/// let queued = try context.enqueue(Report(about: "June"), in: .reports, key: "June", uniqueFor: .seconds(3600))
/// if queued.isDuplicate { print("operation \(queued.id) is about June") }
/// ```
public struct UniqueEnqueue {
    /// The id of the operation that has the key. An earlier call may have queued the operation, and it may have ended.
    public let id: ObjectID<QueuedOperation>
    /// The operation; nil if it has left the queue.
    public let operation: QueuedOperation?
    /// Whether an earlier call has queued the operation, so that this call has queued nothing.
    public let isDuplicate: Bool
}
