public import Foundation
public import Strata

/// An event of an operation in this process. An event is sent after the commit that records it.
public enum PipelineEvent: Sendable {
    /// The operation's handler was started.
    case started(ObjectID<QueuedOperation>, attempt: Int)
    /// The operation's handler has not returned within the timeout. It is cancelled, and a later outcome does not
    /// count. The next event reports how the attempt has ended.
    case stuck(ObjectID<QueuedOperation>, after: Duration)
    /// The operation is finished. If it was skipped or completed without an attempt, all processes that run its
    /// pipeline report it.
    case finished(ObjectID<QueuedOperation>, OperationResult)
    /// An attempt has failed. The operation is tried again at the given date.
    case retrying(ObjectID<QueuedOperation>, at: Date, message: String)
    /// The operation waits for a constraint.
    case waiting(ObjectID<QueuedOperation>, Constraint)
    /// The operation has failed permanently.
    case failed(ObjectID<QueuedOperation>, message: String)
    /// The operation's attempt has ended after this process had lost its lease. The outcome does not count.
    case lost(ObjectID<QueuedOperation>)
    /// The operations of a queue are held, because several runners claim the queue. Reported once for each queue.
    case queueHeld(PipelineName, PipelineError)
    /// A write to the store failed. The engine tries the write again.
    case storeFailed(any Error)
}

extension PipelineEvent: CustomStringConvertible {
    /// The event in words on one line, for logs and screens. Do not parse the text.
    public var description: String { words.onOneLine }

    private var words: String {
        switch self {
        case .started(let id, let attempt): "\(id) has started, attempt \(attempt)"
        case .stuck(let id, let duration): "\(id) has not ended after \(duration)"
        case .finished(let id, let result): "\(id) is \(result)"
        case .retrying(let id, let date, let message): "\(id) is retried at \(date.inWords): \(message)"
        case .waiting(let id, let constraint): "\(id) waits for '\(constraint.rawValue)'"
        case .failed(let id, let message): "\(id) has failed: \(message)"
        case .lost(let id): "\(id) no longer belonged to this worker when its attempt ended"
        case .queueHeld(let name, let error): "the operations of '\(name)' are held: \(error)"
        case .storeFailed(let error): "the store could not be written to: \(error)"
        }
    }
}
