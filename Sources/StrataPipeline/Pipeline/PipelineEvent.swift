public import Foundation
public import Strata

/// Something that has happened to an operation of a pipeline in this process. It is told of behind the commit that has written it.
public enum PipelineEvent: Sendable {
    /// Its handler was started.
    case started(ObjectID<QueuedOperation>, attempt: Int)
    /// Its handler has not returned within the timeout: it is cancelled, and what it says from now on does not count. How the attempt has
    /// ended is told of next.
    case stuck(ObjectID<QueuedOperation>, after: Duration)
    /// It is done with. Where somebody has left it out, or taken it as done, without an attempt, all processes that run its pipeline tell of it.
    case finished(ObjectID<QueuedOperation>, OperationResult)
    /// An attempt has failed, and another one comes after a moment.
    case retrying(ObjectID<QueuedOperation>, at: Date, message: String)
    /// It waits for a constraint.
    case waiting(ObjectID<QueuedOperation>, Constraint)
    /// It has failed for good.
    case failed(ObjectID<QueuedOperation>, message: String)
    /// Its attempt has ended, and was no longer this process's to speak for.
    case lost(ObjectID<QueuedOperation>)
    /// Operations of a queue wait, because several take them. Told once of each.
    case queueHeld(PipelineName, PipelineError)
    /// The store could not be written to; it is tried again.
    case storeFailed(any Error)
}

extension PipelineEvent: CustomStringConvertible {
    /// What has happened in words and on one line, for logs and screens; not to be parsed.
    public var description: String { words.onOneLine }

    private var words: String {
        switch self {
        case .started(let id, let attempt): "\(id) was started, attempt \(attempt)"
        case .stuck(let id, let duration): "\(id) has not come to an end in \(duration)"
        case .finished(let id, let result): "\(id) is \(result.rawValue)"
        case .retrying(let id, let date, let message): "\(id) is tried again at \(date.inWords): \(message)"
        case .waiting(let id, let constraint): "\(id) waits for '\(constraint.rawValue)'"
        case .failed(let id, let message): "\(id) has failed: \(message)"
        case .lost(let id): "\(id) was no longer this worker's when its attempt ended"
        case .queueHeld(let name, let error): "the operations of '\(name)' are held: \(error)"
        case .storeFailed(let error): "the store could not be written to: \(error)"
        }
    }
}
