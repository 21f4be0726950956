public import Foundation
public import Strata

/// Something that has happened to an operation of a pipeline in this process. It is told of behind the commit that has written it.
public enum PipelineEvent: Sendable {
    /// Its handler was started.
    case started(ObjectID<QueuedOperation>, attempt: Int)
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
